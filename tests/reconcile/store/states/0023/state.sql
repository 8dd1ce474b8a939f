PRAGMA application_id = 1380142668;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0023');
CREATE TABLE anchors (
	anchor TEXT NOT NULL, 
	seq BIGINT NOT NULL, 
	status TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	next_at TEXT NOT NULL, 
	at TEXT, 
	receipt TEXT, 
	problem TEXT, 
	CONSTRAINT pk_anchors PRIMARY KEY (anchor, seq), 
	CONSTRAINT fk_anchors_seq FOREIGN KEY(seq) REFERENCES checkpoints (seq)
);
CREATE TABLE approvals (
	"plan" TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	decision TEXT NOT NULL, 
	plan_hash TEXT NOT NULL, 
	at TEXT NOT NULL, 
	note TEXT, 
	CONSTRAINT pk_approvals PRIMARY KEY ("plan", "by"), 
	CONSTRAINT fk_approvals_plan FOREIGN KEY("plan") REFERENCES plans (id)
);
INSERT INTO "approvals" VALUES('P-J3542NPM3SBH','root','approved','c6c19977fcdb4961778c5c223855cff0fa6e0070c792f961c5886f3e878fc589','2026-12-01T23:12:31.644142Z',NULL);
INSERT INTO "approvals" VALUES('P-HTDSDKW3UQNC','root','approved','cb35333f7a7340f5d08a8882bc4e23d06ecdbdfcf5f53faee946f3ad665e4853','2026-12-01T23:12:32.204015Z',NULL);
CREATE TABLE attempts (
	scope TEXT NOT NULL, 
	count INTEGER NOT NULL, 
	since TEXT NOT NULL, 
	CONSTRAINT pk_attempts PRIMARY KEY (scope)
);
CREATE TABLE audit (
	seq BIGINT NOT NULL, 
	at TEXT NOT NULL, 
	actor TEXT NOT NULL, 
	event TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	body_commitment TEXT NOT NULL, 
	prev TEXT NOT NULL, 
	head TEXT NOT NULL, 
	CONSTRAINT pk_audit PRIMARY KEY (seq)
);
INSERT INTO "audit" VALUES(1,'2026-12-01T23:12:27.576146Z','reconcile','finding.opened','c15407bab8aaa7dd5a332e34ce8be1323ae0859107c4450e30623295862cae8d','6af93bd61a39a7277a1aa89e8cb04dc9ad574eefcb370818c079106ab29740ce','32613d12147ca4cd6b6a32fdb3e9e926f66721adb39ff041bbe4c68195b563c6','4b567f3b48188457fe891082d4941092aebbbcf880a6c425738a6a0d020a4c46');
INSERT INTO "audit" VALUES(2,'2026-12-01T23:12:27.576146Z','reconcile','finding.opened','a411536565952231a843d0d0eb2c346f5b68a0c44d7506707a3c146ad0e00d5b','a00c6702e4add086f51766c37759df849bb76d47bbc0987a14d12cbbe07cfba3','4b567f3b48188457fe891082d4941092aebbbcf880a6c425738a6a0d020a4c46','84c8489c3bd0ad7fa7915614a2ded7aeccd65cefec52e1c0fc52e0827e5ea2a1');
INSERT INTO "audit" VALUES(3,'2026-12-01T23:12:27.576146Z','reconcile','finding.opened','bad599b5b39128bbe4699067fd0574c988aa18a57b799324cfd4b7d174a5d234','f662bc0040f420592952de79b5b6d0552393f4009fbfee5c21c39ab51a820240','84c8489c3bd0ad7fa7915614a2ded7aeccd65cefec52e1c0fc52e0827e5ea2a1','dc3965fa2787eae41cfa4d3dcd12b683bee6071fca1dc6e64652465039b89146');
INSERT INTO "audit" VALUES(4,'2026-12-01T23:12:27.576146Z','reconcile','finding.opened','e6bd702188f12806c58dd885c2bdef150ef44b167a602ef4f22d6c5c0477628b','864e51568e050ca31183038ee92ffa7346ee748e8ea16f3180d71c2c69bff32c','dc3965fa2787eae41cfa4d3dcd12b683bee6071fca1dc6e64652465039b89146','22540a748910ae67c6ca1748702c5a2ea96cc8c13bd3b258ac8c0bea7c5d4dff');
INSERT INTO "audit" VALUES(5,'2026-12-01T23:12:28.584472Z','reconcile','finding.opened','b68623de0b7588f2a386a4b629e7e5dd177e59dc7146e8622d226f7d1fc83480','f9ef54393c91b25870ce8e8a4751fa76280d24b10ac45d1d40080629fb9863f8','22540a748910ae67c6ca1748702c5a2ea96cc8c13bd3b258ac8c0bea7c5d4dff','276d79dce48863a9264c05528839597ba9f62370572521ca478f97e523002698');
INSERT INTO "audit" VALUES(6,'2026-12-01T23:12:28.584472Z','reconcile','finding.opened','7b2a065d32501ef5b8503b1fae5f3c5339ff5e8879c0ad691905589d37e202be','25614deb3c83739f2730d4126f9ae57c59fc1c195b9eebea15dc3e7c3559e7b6','276d79dce48863a9264c05528839597ba9f62370572521ca478f97e523002698','a4e2785e54c6b8a509ce730c717099c93b49ea1e0e66f0fd9627a254ed6e9618');
INSERT INTO "audit" VALUES(7,'2026-12-01T23:12:28.584472Z','reconcile','finding.opened','e343feff561565e5013f6bba8781c9ba8daef79fdcfc3b41df4a6683a51b5763','a2190e15707680a2638965ef0a59e77be2626b45ac7dc0dd08426bf26a3cc05c','a4e2785e54c6b8a509ce730c717099c93b49ea1e0e66f0fd9627a254ed6e9618','c8a17a492e60f42e19cd4de0cd52992b894829ec2302af6c932c203ef5ff89cd');
INSERT INTO "audit" VALUES(8,'2026-12-01T23:12:28.584472Z','reconcile','finding.opened','05659b98563594f249cad3fcd362f27d64dfe258610be2426856c88cf9115122','b4a2f5fc63b15c1ac21b238f0e85f8045d382df807465bd7a150e8670d42c812','c8a17a492e60f42e19cd4de0cd52992b894829ec2302af6c932c203ef5ff89cd','8848b9bd07c10fa038659654ea4a2808214c12032700f0d99648145facdda169');
INSERT INTO "audit" VALUES(9,'2026-12-01T23:12:29.502809Z','reconcile','finding.opened','e46b39620f3a23f74ac40826bc81fcd0f7181ae34efb5b96472a025a91ae4080','26256f7f81af78fcbae94ad05e73c46761ee128ed041f3521f135f4c4df273b0','8848b9bd07c10fa038659654ea4a2808214c12032700f0d99648145facdda169','722c15b4037f0197b36ddfdfe44860065abc4521d03dc301b3459459e9c2cd22');
INSERT INTO "audit" VALUES(10,'2026-12-01T23:12:29.502809Z','reconcile','finding.opened','a52a960691eef8993784c67508652c1f76e721b8c128fecc95d2c149d50c3f91','5598f4cfeb1be42f34c25b062810c495e2e2fd789462130453817525e5d91723','722c15b4037f0197b36ddfdfe44860065abc4521d03dc301b3459459e9c2cd22','6702f77fe821ad9b96810302ee446d0edc01b127a7a42406962ca978487e3ade');
INSERT INTO "audit" VALUES(11,'2026-12-01T23:12:29.502809Z','reconcile','finding.opened','72e8e3516f7d09534068f7b763dc7c67527dc88683cdf730eb1e6e133299520d','627769aa8530a433fb286656599dd451f93e37b7c0b06867eac869298de141d8','6702f77fe821ad9b96810302ee446d0edc01b127a7a42406962ca978487e3ade','f5037b5827ff786a15c4fb1605bab50fd4c10ec39169e5f6908f560f5dc4d6eb');
INSERT INTO "audit" VALUES(12,'2026-12-01T23:12:29.502809Z','reconcile','finding.opened','32ba3c8afb10123dc7d8eee7d3f97e24cd956681f4603e7aa666de02bdb24781','919676fedfda3f144daae4493da67c5c13d5789ba58d6a7496331b0846ac6ab4','f5037b5827ff786a15c4fb1605bab50fd4c10ec39169e5f6908f560f5dc4d6eb','e86242d7642817d1082e46f11e4ac4c490572a0715d557bf92888097474f353b');
INSERT INTO "audit" VALUES(13,'2026-12-01T23:12:29.653406Z','reconcile','finding.opened','e7ff15fbc843f5cfb5f476d703c1552428d6a6d58472f757c25d20ec85f2b5e6','6ff7532235c8f9a8dbc8b5dcf33275a9f475cf25e2147cc2b8ad99a5066e8465','e86242d7642817d1082e46f11e4ac4c490572a0715d557bf92888097474f353b','730407926a7298294307c588a753638bc79422caaa6c9878306120d797da7ed4');
INSERT INTO "audit" VALUES(14,'2026-12-01T23:12:30.271715Z','reconcile','plan.proposed','22c5eaa7051a738ae3c332d27f5da01d560ba8cc636f38c10de7eb31a21fc51b','c80fb4b5383cd7f16a7e061e81383e01b97d32bfa34fa0e3e2db215e2f877ce8','730407926a7298294307c588a753638bc79422caaa6c9878306120d797da7ed4','4788125abe5d7c2fb1d125575e646931692abc34406e8ecc75d03891f8dd7415');
INSERT INTO "audit" VALUES(15,'2026-12-01T23:12:30.271715Z','reconcile','plan.proposed','4addebd9451d96b85c9a6ee58bc334163556e42cf144728bee5fa5335629a3c2','75e8669887a6b55896112bee9b37f5440f1fa30752b296aad655d63fbcd1f112','4788125abe5d7c2fb1d125575e646931692abc34406e8ecc75d03891f8dd7415','a8e10d4c73372cfa93038e20b6cde78b390d87745c255ad7277495345fee8529');
INSERT INTO "audit" VALUES(16,'2026-12-01T23:12:30.271715Z','reconcile','plan.proposed','da5a3e24d7dfc98607d8de4a2da308a9ca390dcb50f2c8360571ac11aec719dd','e1cb48fd4d80468257b905d850cd39d939255efe2025619d467ba9ae556140bb','a8e10d4c73372cfa93038e20b6cde78b390d87745c255ad7277495345fee8529','2e0e91c5417cca6a8585ac6199e4702f8d8ece6fb9365a0ff54e4ad5a9f680d9');
INSERT INTO "audit" VALUES(17,'2026-12-01T23:12:30.271715Z','reconcile','plan.proposed','8102d5e6fe90551e3a4cae3e8aa03dfdd2a37173e1ea59058142460099b65421','c63eca367d07c57aaf5dfba298500792c86d36428aaa782ef712d60052d460a6','2e0e91c5417cca6a8585ac6199e4702f8d8ece6fb9365a0ff54e4ad5a9f680d9','1faa5e6cf2a85e04900958426b93db795e2dd8c4b90c6eea01a874ef9b47c57c');
INSERT INTO "audit" VALUES(18,'2026-12-01T23:12:30.406182Z','reconcile','message.queued','00000e9bcfb9f0213d061a8cbdcf8bdbd5f08a01901961211daa498a8871a672','a8df9fe80acabad4aedc3828002982bedb3ab96f6519a1603171f583a2d71945','1faa5e6cf2a85e04900958426b93db795e2dd8c4b90c6eea01a874ef9b47c57c','342095a9f715d964247bc4c0cd05a531e73a141f4ed0a79f330bd15b26bd0a1f');
INSERT INTO "audit" VALUES(19,'2026-12-01T23:12:30.406182Z','reconcile','run.finished','5b0f49a98e10c1d96ae34c0a081ca0a098e749ccf4949e4a806808716fb11d28','e7898205a8106461d7e87ce353957c8d35e7b84a58108295fa3c5ec86b1b456f','342095a9f715d964247bc4c0cd05a531e73a141f4ed0a79f330bd15b26bd0a1f','3d58cba4fbb2f0b1362c43563fb3a70ae4c74ab3a50f0207408addf13ccf53f8');
INSERT INTO "audit" VALUES(20,'2026-12-01T23:12:30.506499Z','reconcile','message.sending','00000e9bcfb9f0213d061a8cbdcf8bdbd5f08a01901961211daa498a8871a672','3451c28cc88fa87bd7f43fbb20953827a21474e71e9e5101d7c96e648e3a3598','3d58cba4fbb2f0b1362c43563fb3a70ae4c74ab3a50f0207408addf13ccf53f8','991dd9aaf37839b226de03a16b57ea752408d9299b84fbf9c7bc9c6ceec3c4af');
INSERT INTO "audit" VALUES(21,'2026-12-01T23:12:30.518328Z','reconcile','message.sent','00000e9bcfb9f0213d061a8cbdcf8bdbd5f08a01901961211daa498a8871a672','8c52d4166ad8b28ce5a8c58e34b8f23bd7d01c267f2d73a8920afae318664a8e','991dd9aaf37839b226de03a16b57ea752408d9299b84fbf9c7bc9c6ceec3c4af','994c2f7ee28aa73de9960b126f7adeaf5b56698de0683df54c2413b6e485e7b6');
INSERT INTO "audit" VALUES(22,'2026-12-01T23:12:31.486083Z','root','finding.keeper_chosen','a411536565952231a843d0d0eb2c346f5b68a0c44d7506707a3c146ad0e00d5b','1b6637e06f3d50ccac548c58ebc9284523aad5338bc0213511d3bc479cd12505','994c2f7ee28aa73de9960b126f7adeaf5b56698de0683df54c2413b6e485e7b6','784d08f58f755839fadd67f9b1ad6e9b02fc69668128154dacb3b44fb1ec0ed7');
INSERT INTO "audit" VALUES(23,'2026-12-01T23:12:31.486083Z','root','plan.skipped','4addebd9451d96b85c9a6ee58bc334163556e42cf144728bee5fa5335629a3c2','cd970daf7bcc5cfd0cae3d6615b4634ba76fa32422bac7f320bcc4f8c718e833','784d08f58f755839fadd67f9b1ad6e9b02fc69668128154dacb3b44fb1ec0ed7','39832537479d62591d4ccb30c448a434e5a4f4fb154adaf0087384a9463aacbc');
INSERT INTO "audit" VALUES(24,'2026-12-01T23:12:31.486083Z','reconcile','plan.proposed','c6599db83c8bce387836070e3fa96a5243522a69297afb2d50ed4b28326bc641','9f166ddd5ffb6ee75df2831248987408438ae022a0311ee5ea7d9e352ee7b597','39832537479d62591d4ccb30c448a434e5a4f4fb154adaf0087384a9463aacbc','8b2737816bb2b0e2648251e352abeae178c52824dae585cdc1422a58824013db');
INSERT INTO "audit" VALUES(25,'2026-12-01T23:12:31.644142Z','root','approval.approved','22c5eaa7051a738ae3c332d27f5da01d560ba8cc636f38c10de7eb31a21fc51b','bca0f4c54f823812410344d48c5d0d18441942678820e401a28609c9fbec7993','8b2737816bb2b0e2648251e352abeae178c52824dae585cdc1422a58824013db','e4ed59340dfc8019ad4b32c89504cb54c3b2a446febb5871ecd9f4aa4fe050e7');
INSERT INTO "audit" VALUES(26,'2026-12-01T23:12:31.644142Z','root','plan.approved','22c5eaa7051a738ae3c332d27f5da01d560ba8cc636f38c10de7eb31a21fc51b','fa6c30e5d2316a7d676179d0d04f84c06f6206fde60a6b035561b02984c17851','e4ed59340dfc8019ad4b32c89504cb54c3b2a446febb5871ecd9f4aa4fe050e7','26634f6358f7194fde50f608c0db78f03a4f1f5f8154003da102589f62763c35');
INSERT INTO "audit" VALUES(27,'2026-12-01T23:12:31.774719Z','reconcile','target.first_seen','fadae62cc5a08d0dba95f91e571bf22fce544ce8a37819ccbd5034c1ba7af01c','41fe57922facf273fe83ddaae347e170defb9866afc8841135f3d6c45877e381','26634f6358f7194fde50f608c0db78f03a4f1f5f8154003da102589f62763c35','9d7e0e93d5584040b6ec8e3f62f95a346bf57cc523edbb34fb25981bc432703c');
INSERT INTO "audit" VALUES(28,'2026-12-01T23:12:32.098676Z','reconcile','operation.sent','22c5eaa7051a738ae3c332d27f5da01d560ba8cc636f38c10de7eb31a21fc51b','4629f9bf00c92a0e353aac03e8b05eb556d8aed7f405e1922505d0cd285264d3','9d7e0e93d5584040b6ec8e3f62f95a346bf57cc523edbb34fb25981bc432703c','b4432b472bc790a835101288cd794ddb03c0705cb726aa1faecb56336a9dac04');
INSERT INTO "audit" VALUES(29,'2026-12-01T23:12:32.137153Z','reconcile','operation.succeeded','22c5eaa7051a738ae3c332d27f5da01d560ba8cc636f38c10de7eb31a21fc51b','3c6935008ddb04e2bfe58bdc55b09eaeaab250116b612cf1cdafe32f7f2c2b22','b4432b472bc790a835101288cd794ddb03c0705cb726aa1faecb56336a9dac04','fa1ea6b836a8292f2306f55c146d7d333662ac400a30ce35aceba998241dff7c');
INSERT INTO "audit" VALUES(30,'2026-12-01T23:12:32.204015Z','root','approval.approved','da5a3e24d7dfc98607d8de4a2da308a9ca390dcb50f2c8360571ac11aec719dd','9d1eb78d0a9080ad0f3b3ae36ddf2573d831cb55221eecd59585c30edff8bb63','fa1ea6b836a8292f2306f55c146d7d333662ac400a30ce35aceba998241dff7c','a1f4a8a09a24dbf9967b4c7cbe7fcd7d1ef4e8ff73211257af09fface9d61b87');
INSERT INTO "audit" VALUES(31,'2026-12-01T23:12:32.204015Z','root','plan.approved','da5a3e24d7dfc98607d8de4a2da308a9ca390dcb50f2c8360571ac11aec719dd','76802b97776402a16fe5e50568ec44f9975e0d517da7d959cf8faffd4ff3214e','a1f4a8a09a24dbf9967b4c7cbe7fcd7d1ef4e8ff73211257af09fface9d61b87','3befc4f4cec8df248bbf7392f8e5e657e617944818409e1db0435e247eab0312');
INSERT INTO "audit" VALUES(32,'2026-12-01T23:12:32.814713Z','reconcile','operation.sent','da5a3e24d7dfc98607d8de4a2da308a9ca390dcb50f2c8360571ac11aec719dd','04178e5dc8cbf7bb579658c126b13e13618e34d87bae0cb56191e41e7d3da92f','3befc4f4cec8df248bbf7392f8e5e657e617944818409e1db0435e247eab0312','0a3443efa88e38efbd5a71fb4dbf392406d3fbd59f5e824219bbe1c51f23434a');
INSERT INTO "audit" VALUES(33,'2026-12-01T23:12:32.832164Z','reconcile','operation.succeeded','da5a3e24d7dfc98607d8de4a2da308a9ca390dcb50f2c8360571ac11aec719dd','5d641216ec1e8c54d69b06f7532baf1aa6ef18365d1ae6b14651827b08dc4c16','0a3443efa88e38efbd5a71fb4dbf392406d3fbd59f5e824219bbe1c51f23434a','2eef6e7e5019e33a5b741152193e2b8f92192c9e233dc827c47c556c2619e7b4');
INSERT INTO "audit" VALUES(34,'2026-12-01T23:12:32.934327Z','root','plan.proposed','2d0027dae3b28f0da21471c1af3eeba1cd3781e01930e7b1c0ca265cb3c4598b','b20149366acc6885fb1ae578ba9237f4d841459e4214a2dc701455d4ed51d323','2eef6e7e5019e33a5b741152193e2b8f92192c9e233dc827c47c556c2619e7b4','d78515c80a8b8f1ea7a75b5d2ee5902385631843a773b41421dc7c134e9ee19a');
INSERT INTO "audit" VALUES(35,'2026-12-01T23:12:33.031993Z','reconcile','operation.sent','2d0027dae3b28f0da21471c1af3eeba1cd3781e01930e7b1c0ca265cb3c4598b','ffb7bffeb9206c34bbb0ecdd83e2ca780399aee8dbc465b3a4d423e74ceab407','d78515c80a8b8f1ea7a75b5d2ee5902385631843a773b41421dc7c134e9ee19a','e7a57c6982fdff0d5b8a0064c8fb647937a8ca7f045b167125d012386ded3a97');
INSERT INTO "audit" VALUES(36,'2026-12-01T23:12:33.061794Z','reconcile','operation.succeeded','2d0027dae3b28f0da21471c1af3eeba1cd3781e01930e7b1c0ca265cb3c4598b','ec8fdf1d57ae107d0317c37fccb29f2fdca62c33c019b5fe60d669a9a7448826','e7a57c6982fdff0d5b8a0064c8fb647937a8ca7f045b167125d012386ded3a97','66aae4005e65993654fa8e2b9659ab963b5df2e71456ffe702a4ae3a317a520a');
INSERT INTO "audit" VALUES(37,'2026-12-01T23:12:33.173701Z','root','plan.skipped','8102d5e6fe90551e3a4cae3e8aa03dfdd2a37173e1ea59058142460099b65421','1fbc6d62ebe0c4d79e64e17ebbf2639d2d8b517ac19038d3a5a3dd5f14a4347d','66aae4005e65993654fa8e2b9659ab963b5df2e71456ffe702a4ae3a317a520a','bc1a65e3a75e088c039bc51077b23a507650f0fb32aa7a3935ab319569ee8c7d');
INSERT INTO "audit" VALUES(38,'2026-12-01T23:12:33.173701Z','root','finding.dismissed','e6bd702188f12806c58dd885c2bdef150ef44b167a602ef4f22d6c5c0477628b','69dc233d24efc656237b202e3fbd87c370d9d028bd10fdb0266add026a6017dc','bc1a65e3a75e088c039bc51077b23a507650f0fb32aa7a3935ab319569ee8c7d','4aef7a15642dcda75ddce172611d07ad0dea19d8a994620de080e2d6780926f5');
INSERT INTO "audit" VALUES(39,'2026-12-01T23:12:33.314405Z','root','finding.snoozed','b68623de0b7588f2a386a4b629e7e5dd177e59dc7146e8622d226f7d1fc83480','b1ce1c3125f342effd6aa7af2f638b2c448b898ea9d7400cbaf592095cefabe1','4aef7a15642dcda75ddce172611d07ad0dea19d8a994620de080e2d6780926f5','a44f5ade14a00128de9116907e54fbca30f0bfe7fbe8382d3d6490812be3a83d');
INSERT INTO "audit" VALUES(40,'2026-12-01T23:12:33.403038Z','root','finding.assigned','7b2a065d32501ef5b8503b1fae5f3c5339ff5e8879c0ad691905589d37e202be','9e7eaa8349666e5647a34e076f6aa42cb5a7dad9029b4ec5a720579f2fe006e3','a44f5ade14a00128de9116907e54fbca30f0bfe7fbe8382d3d6490812be3a83d','ef88b9a6413405d5dba3d656e8b5db0d9b48a948c91f20a3906edfc7c52dcefd');
INSERT INTO "audit" VALUES(41,'2026-12-01T23:12:33.473002Z','root','finding.handled','32ba3c8afb10123dc7d8eee7d3f97e24cd956681f4603e7aa666de02bdb24781','fc325225014efffd0ea015022aa3be5b423729c66f882a2f9c8ec1989aa1767e','ef88b9a6413405d5dba3d656e8b5db0d9b48a948c91f20a3906edfc7c52dcefd','c7690f97185a456c690c2664f7bfab030e4932161905e8ccc068d958fe8ed848');
INSERT INTO "audit" VALUES(42,'2026-12-01T23:12:33.554466Z','root','user.added','0d060ee841e125b1c9745ff515d7530b1d7ed02b8dcadc89b783492e5657c735','fad64937f054cb2225f19c5be4a21bc5e2b56364cd6d3a72d505aabf0a25aee2','c7690f97185a456c690c2664f7bfab030e4932161905e8ccc068d958fe8ed848','eabff5993c9abbe302fdc0fbad2213e416ddcf82bf20731be06d5246599fd251');
INSERT INTO "audit" VALUES(43,'2026-12-01T23:12:35.462322Z','reconcile','finding.resolved','a52a960691eef8993784c67508652c1f76e721b8c128fecc95d2c149d50c3f91','f59800bbbe040d04d1ec1a54d43d252488f6055d2b9c70deee38200c50665b73','eabff5993c9abbe302fdc0fbad2213e416ddcf82bf20731be06d5246599fd251','fdf1d240f38358d2f5759ddcfbd58db9b8b3a1931f21bac6961087f46d7a5786');
INSERT INTO "audit" VALUES(44,'2026-12-01T23:12:35.462322Z','reconcile','finding.opened','4ff7c1004b38d5ca9416506cb233820283a4f0b9f08f414b120f62246e5bc5d6','b1062694e94ababef36a05791a7ea368c668c93d367444640020681268315acd','fdf1d240f38358d2f5759ddcfbd58db9b8b3a1931f21bac6961087f46d7a5786','b94a1daa90e78874181c599cdbd53a89b4014c1cd3dec99b0edfc8fe15e5105a');
INSERT INTO "audit" VALUES(45,'2026-12-01T23:12:35.698580Z','reconcile','finding.resolved','e7ff15fbc843f5cfb5f476d703c1552428d6a6d58472f757c25d20ec85f2b5e6','1f3ba772b1cc734d49ac408b3951ea3cc467eade3d514b880cea93fb8ad671c1','b94a1daa90e78874181c599cdbd53a89b4014c1cd3dec99b0edfc8fe15e5105a','5da7ce57b16c6ffceeae1b705700ab7ede67d21369b759229224cccf36cf8a78');
INSERT INTO "audit" VALUES(46,'2026-12-01T23:12:36.247968Z','reconcile','state.changed','e405d2d9a462a10a4e8bd92705baace96be3efa139f25134570c9419d008f79b','77bddf7e17849be5b7115ecbe3c2c355394a8af8f7c9167540140abbfdd41794','5da7ce57b16c6ffceeae1b705700ab7ede67d21369b759229224cccf36cf8a78','5342dbd4163b7f636caf7d3dcb363dae0d157f4474bb799650fa73f3e9ebd572');
INSERT INTO "audit" VALUES(47,'2026-12-01T23:12:36.423477Z','reconcile','message.queued','2a523ebac46eae9617dafa3783b4bed1f21ad705af8dbfdc217065803421c29b','20016a47deb92bcf9afa117d3c15ada64e6279f82e59789cd84e11e2a7cdeca2','5342dbd4163b7f636caf7d3dcb363dae0d157f4474bb799650fa73f3e9ebd572','948de9466e3eca0c57ae94145a3f30fa8c81b0630d7f224d3ff8ead1ec18d4f9');
INSERT INTO "audit" VALUES(48,'2026-12-01T23:12:36.423477Z','reconcile','run.finished','1785b1ef59823a6d9bb1b6096f4de4fe77eab4977925021bf69f623cd489572d','84b29bd1d92d916663e2779e03cc6deb2bc18b81185a1f998b8dd2bc0e7a2b04','948de9466e3eca0c57ae94145a3f30fa8c81b0630d7f224d3ff8ead1ec18d4f9','8bb8b9395687afee37a8b93d1cc36215f0cb05b7468c080184adc85d5b5b6143');
INSERT INTO "audit" VALUES(49,'2026-12-01T23:12:36.593614Z','reconcile','message.sending','2a523ebac46eae9617dafa3783b4bed1f21ad705af8dbfdc217065803421c29b','3e8d1b58d9e13ac76df7a32894232f7d2b841c331dd6788edf18d5e569c40dd6','8bb8b9395687afee37a8b93d1cc36215f0cb05b7468c080184adc85d5b5b6143','ad59c84ad86b38ddd316e602493efed42f919e436ef3bf566ff1496293b407cc');
INSERT INTO "audit" VALUES(50,'2026-12-01T23:12:36.636490Z','reconcile','message.sent','2a523ebac46eae9617dafa3783b4bed1f21ad705af8dbfdc217065803421c29b','4296ba463eca4d92ab078e29784dc3e114360396672a34ea122bcdc5756f1eba','ad59c84ad86b38ddd316e602493efed42f919e436ef3bf566ff1496293b407cc','a58a24187179940f271f603fac335eb66ce3aeca5117a7435e25a4f681c499c9');
CREATE TABLE audit_bodies (
	seq BIGINT NOT NULL, 
	salt TEXT NOT NULL, 
	body TEXT NOT NULL, 
	finding TEXT, 
	run TEXT, 
	CONSTRAINT pk_audit_bodies PRIMARY KEY (seq), 
	CONSTRAINT fk_audit_bodies_seq FOREIGN KEY(seq) REFERENCES audit (seq)
);
INSERT INTO "audit_bodies" VALUES(1,'ed8fe6c83e514547c7dac2a2e2e38df2732f4111a82073738d4f33ceec522365','{"facts":[["finding","F-9EP338",null,"db230137787b8cf42140ee95fe126037"],["rule","twins",null,"aaee5119acfc367e980dc0897c9c3dc6"]],"finding":"F-9EP338","from":null,"records":2,"rule":"twins","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"open","version":1}','F-9EP338','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(2,'ad838424ebc422e42cd5a16fd6545a21a77a43ab0fb0182f1fa4274ccbe4f735','{"facts":[["finding","F-9T063D",null,"630f4a454d5b5d04745639c38cba9de3"]],"finding":"F-9T063D","from":null,"records":2,"rule":"twins","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"open","version":1}','F-9T063D','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(3,'e147666caeaf762052c719c2aa35e4b90d5dffd5e61a88fe436fdd10ddda1327','{"facts":[["finding","F-HP9A4W",null,"6b26aabe6ee5ad69251da45be430f078"]],"finding":"F-HP9A4W","from":null,"records":2,"rule":"twins","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"open","version":1}','F-HP9A4W','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(4,'4ad355e6ab98a0f15fab4633de1423095ad009a779e005e8b4100f8dabaccfc6','{"facts":[["finding","F-YQN36N",null,"fe567a84529a2ac9f287ddfc3c478ea7"]],"finding":"F-YQN36N","from":null,"records":2,"rule":"twins","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"open","version":1}','F-YQN36N','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(5,'1c6dffe2b5c40e7422a3f496932dd1cdf820b57830eebdee3ef316184ca2cc3d','{"facts":[["finding","F-0QN7S1",null,"a26d90c86d3a6e752a4053079ece0ea9"],["rule","persons",null,"80a06217f4b76afcb63a000be4a40239"]],"finding":"F-0QN7S1","from":null,"records":2,"rule":"persons","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"open","version":1}','F-0QN7S1','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(6,'5c46c1c544e69e013df00664c1cb757c2790e738f1266718ae327eb8409c8bf9','{"facts":[["finding","F-BN7SS9",null,"8810ae85556b7fe3ea0fc2ebf0318ab6"]],"finding":"F-BN7SS9","from":null,"records":2,"rule":"persons","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"open","version":1}','F-BN7SS9','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(7,'1d1c2baea03d17ae2454e65f2d01ab235427c7ec5f24dbdcdf3014cccd66f696','{"facts":[["finding","F-GBBPV5",null,"290236ad26c666e61eaf4963cfaca15d"]],"finding":"F-GBBPV5","from":null,"records":2,"rule":"persons","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"open","version":1}','F-GBBPV5','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(8,'c0a032f4022edfbfdca6f158e53c5256e072555da037f72262e0beac34a4cd9c','{"facts":[["finding","F-H4HH74",null,"205f46002d63e4144f2d5b277a8548fe"]],"finding":"F-H4HH74","from":null,"records":2,"rule":"persons","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"open","version":1}','F-H4HH74','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(9,'808254a6457d990df1dedd00d6bd4bfbf6b4a265dd816f634848fbb2e19ad3d9','{"facts":[["finding","F-CX2T6Q",null,"79ea1759009fadaf4c7a52abc60776a3"],["rule","paid",null,"b3e361556611d2131627f24fb5cc5922"]],"finding":"F-CX2T6Q","from":null,"records":2,"rule":"paid","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"open","version":1}','F-CX2T6Q','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(10,'cf6b1aa0dcf21ecc0e89c82efb6dd0ebbc8323479b1172f9d922f1342922de5b','{"facts":[["finding","F-EBKEQD",null,"0599eca1128428257a5991487c6dd770"]],"finding":"F-EBKEQD","from":null,"records":1,"rule":"paid","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"open","version":1}','F-EBKEQD','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(11,'d4a1b044aa151e37106f54731e43108a5cdfd8e3d1769aebc1cfff34fdece97f','{"facts":[["finding","F-YDB416",null,"6fe5573275432ef910fc61aae58cfd3a"]],"finding":"F-YDB416","from":null,"records":1,"rule":"paid","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"open","version":1}','F-YDB416','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(12,'4d36c8bd0d53e3a59290d5d75176369aaa69631d95758926b54517aece6564b8','{"facts":[["finding","F-ZHEGNZ",null,"831805394e1d35f64c269640e035f2cf"]],"finding":"F-ZHEGNZ","from":null,"records":1,"rule":"paid","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"open","version":1}','F-ZHEGNZ','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(13,'8ddcb41d5cbf82402821298fc70c2ecdcb5ab1877d02559f995abd4ad0503c3d','{"facts":[["finding","F-TQZKBP",null,"2c0ffd411dccb50e9e438b2b465ec398"],["rule","negative",null,"43501f20683f776a0c624d93f8a83843"]],"finding":"F-TQZKBP","from":null,"records":1,"rule":"negative","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"open","version":1}','F-TQZKBP','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(14,'099d20a0a06d2f355b8ece6cc6096e5f0cfbaa01424e7fbd0ca9384797505bb8','{"action":"set","also":[["finding","F-9EP338","open","awaiting_approval"]],"facts":[["finding","F-9EP338","db230137787b8cf42140ee95fe126037","0f241f5b62716a80516a134376a7976d"],["plan","P-J3542NPM3SBH",null,"b5545417c58b0c77c422a606c7893814"],["limits","rule:twins",null,"5dab33403c9975f9f4a8e6c5a74394a9"],["limits","target:sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db",null,"a482af1bd2241eafc4e4adb4c8a5b1c8"]],"finding":"F-9EP338","from":null,"plan":"P-J3542NPM3SBH","plan_hash":"c6c19977fcdb4961778c5c223855cff0fa6e0070c792f961c5886f3e878fc589","policy":"required","records":1,"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rows":1,"run":"run1_lxtep2nxci3fanowrsflbvxgt4","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-9EP338','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(15,'90f5fcea9d3563723f526fe0339f7e71dbd85b2dd12d953fe462d3d6385b84c5','{"action":"set","also":[["finding","F-9T063D","open","awaiting_approval"]],"facts":[["finding","F-9T063D","630f4a454d5b5d04745639c38cba9de3","953f72bc9ece56ab00ff55341ddbcefb"],["plan","P-XU5GND2LNUKT",null,"140bd9bf5379bdbf16424d5eebb5f9bc"]],"finding":"F-9T063D","from":null,"plan":"P-XU5GND2LNUKT","plan_hash":"9d4c9311ad366a7c395cba1216f49accd38dc18381b6aceb17a6761625709637","policy":"required","records":1,"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rows":1,"run":"run1_lxtep2nxci3fanowrsflbvxgt4","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-9T063D','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(16,'efe708a9df306f1eaf84083a49d0e902c84008ff7ee2ccb5300c5999228f5484','{"action":"set","also":[["finding","F-HP9A4W","open","awaiting_approval"]],"facts":[["finding","F-HP9A4W","6b26aabe6ee5ad69251da45be430f078","89993eea087afc66eb1e0e24f65117fe"],["plan","P-HTDSDKW3UQNC",null,"75dc78c9502731a27236b282d901fa66"]],"finding":"F-HP9A4W","from":null,"plan":"P-HTDSDKW3UQNC","plan_hash":"cb35333f7a7340f5d08a8882bc4e23d06ecdbdfcf5f53faee946f3ad665e4853","policy":"required","records":1,"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rows":1,"run":"run1_lxtep2nxci3fanowrsflbvxgt4","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-HP9A4W','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(17,'b1ce9c6f775c45a6957bdf427723ba2e8a2f9c536425f4f7792017f2a9612b20','{"action":"set","also":[["finding","F-YQN36N","open","awaiting_approval"]],"facts":[["finding","F-YQN36N","fe567a84529a2ac9f287ddfc3c478ea7","e16e894c53c21663b18c7ee6ca1c3835"],["plan","P-DQ7QRLPCACMX",null,"c585fa68edd5210e2bf2b2b7fb10a8e1"]],"finding":"F-YQN36N","from":null,"plan":"P-DQ7QRLPCACMX","plan_hash":"691c79fb3db7a101b7fb5fb702a9ed3d7468fe8013575574e19870ff816481f4","policy":"required","records":1,"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rows":1,"run":"run1_lxtep2nxci3fanowrsflbvxgt4","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-YQN36N','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(18,'8bc072d0a4b58269b56c76bec8426224d6f42300e9e261c38020d849eb268524','{"channel":"team","facts":[["rule","twins","aaee5119acfc367e980dc0897c9c3dc6","326038a29a7a120eb4a6b3546a595048"]],"message":"msg1_9efc6445feedaf326abc4ceb","run":"run1_lxtep2nxci3fanowrsflbvxgt4"}',NULL,'run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(19,'f1e05d83ea70db7f6233496b1cf9c72d5b5ae29b3b9abb36ba73936e5ee007ff','{"attempt":1,"failed":[],"job":"nightly","release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rules":["twins","persons","paid","negative"],"run":"run1_lxtep2nxci3fanowrsflbvxgt4","slot":"2026-12-01T23:12:22.980005Z","started":"2026-12-01T23:12:26.651853Z","status":"succeeded","trigger":"manual"}',NULL,'run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(20,'3b818fc2f2d5767549263223f160ee24581fef9bd2d4a65bbddec8f7226e5718','{"attempt":1,"channel":"team","message":"msg1_9efc6445feedaf326abc4ceb","outcome_unknown":false,"run":"run1_lxtep2nxci3fanowrsflbvxgt4"}',NULL,'run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(21,'004c502b84bdd977f51598bac37593ee9526c2f01345f4ffcf75c4a5fa2f6720','{"attempt":1,"channel":"team","found":false,"message":"msg1_9efc6445feedaf326abc4ceb","receipt":{"details":{"notice":"msg1_9efc6445feedaf326abc4ceb"},"where":"file messages.jsonl"},"run":"run1_lxtep2nxci3fanowrsflbvxgt4"}',NULL,'run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(22,'f2f616c9198e93d0913702da9a7d8518c89ffa9b936ac83f111c2c75d81d3a48','{"facts":[["finding","F-9T063D","953f72bc9ece56ab00ff55341ddbcefb","6de6a9377f46dda8ff57b555691b78dc"],["limits","rule:twins","5dab33403c9975f9f4a8e6c5a74394a9","a60178e35b3d2f96aa61d9572eb0e694"],["limits","target:sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db","a482af1bd2241eafc4e4adb4c8a5b1c8","6311be9f3b0652e69654d76a38d64879"]],"finding":"F-9T063D","note":"the newer address","record":"f8cb0929e0f1b344c2b8a22f360b9571","records":2,"rule":"twins","version":3}','F-9T063D',NULL);
INSERT INTO "audit_bodies" VALUES(23,'24463409d7e30ba8b6a92ed0c38d980428f48f4b155160ee8068853c129aa449','{"facts":[["plan","P-XU5GND2LNUKT","140bd9bf5379bdbf16424d5eebb5f9bc","16dfacb2e2758d192c7d21230cc8302c"]],"fence":0,"finding":"F-9T063D","from":"awaiting_approval","plan":"P-XU5GND2LNUKT","reason":"root chose another keeper","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"skipped"}','F-9T063D','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(24,'2ae917b1cf4cc2fe95f7395bd203aaa589cb2f7c12c706c5c3f1614c23456f61','{"action":"set","facts":[["plan","P-R6VSTBNFKFSN",null,"3cc41e98bc84edd4202400f8eea6b419"]],"finding":"F-9T063D","from":null,"plan":"P-R6VSTBNFKFSN","plan_hash":"5ac810375d952d9ae9f1c1bc29e895c7853b9b4f726b597aca7ccad00f145f9e","policy":"required","records":1,"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rows":1,"run":null,"to":"awaiting_approval","undoes":null}','F-9T063D',NULL);
INSERT INTO "audit_bodies" VALUES(25,'d5e9faa09c1f20f6b4e026a525b7aea275dfedc9c70c605891b3ddf3f786ed4f','{"by":"root","decision":"approved","facts":[["finding","F-9EP338","0f241f5b62716a80516a134376a7976d","9236b0f26117e550ecbe89686c9f6fdf"],["plan","P-J3542NPM3SBH","b5545417c58b0c77c422a606c7893814","d0e4767033a4720101775d58e0a9da7c"]],"finding":"F-9EP338","plan":"P-J3542NPM3SBH","plan_hash":"c6c19977fcdb4961778c5c223855cff0fa6e0070c792f961c5886f3e878fc589","system":"root@vm","was":null}','F-9EP338',NULL);
INSERT INTO "audit_bodies" VALUES(26,'831b25fab8f832d1c06793d780a9e472ecf46659fbe83784be6813c3e7dd7d7d','{"also":[["finding","F-9EP338","awaiting_approval","approved"]],"fence":0,"finding":"F-9EP338","from":"awaiting_approval","plan":"P-J3542NPM3SBH","run":"run1_lxtep2nxci3fanowrsflbvxgt4","story":"finding.approved","to":"approved"}','F-9EP338','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(27,'db416984ba1f751cca49a074be0f3ce3a49988cd32ae2051b0be97b3107fcd91','{"source":"shop","target":"sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db"}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(28,'26fc3beceaf600aceaab09507fe3bccc0c6d48d1c4d9c9799dd13373c75d5004','{"also":[["finding","F-9EP338","approved","cleaning"]],"attempt":1,"facts":[["plan","P-J3542NPM3SBH","d0e4767033a4720101775d58e0a9da7c","47cc160a38ec06f60ec3577be6c4f320"]],"fence":1,"finding":"F-9EP338","from":"approved","keys":["rk1.jr65cw.xll2nchza67fxyo5of37nkbd36iillzvqbhnfhcfqjpu7qnxfvdq"],"plan":"P-J3542NPM3SBH","run":"run1_lxtep2nxci3fanowrsflbvxgt4","story":"finding.cleaning","to":"sent"}','F-9EP338','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(29,'df7a00836de49fd1d53a09b6faba9981cfc29c6e8751767c137dd2ce201bbfdb','{"also":[["finding","F-9EP338","cleaning","cleaned"]],"facts":[["finding","F-9EP338","9236b0f26117e550ecbe89686c9f6fdf","9acfb1a3125d3c55f2297f9106d653eb"],["plan","P-J3542NPM3SBH","47cc160a38ec06f60ec3577be6c4f320","ed43b3f97402fdf1c9991b2c476c2a39"]],"fence":1,"finding":"F-9EP338","from":"sent","plan":"P-J3542NPM3SBH","run":"run1_lxtep2nxci3fanowrsflbvxgt4","story":"finding.cleaned","to":"succeeded"}','F-9EP338','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(30,'c4153ab0b17193526780334afe6d5a46ba0522664a5ef9fa02287b28a650b789','{"by":"root","decision":"approved","facts":[["finding","F-HP9A4W","89993eea087afc66eb1e0e24f65117fe","3712816f98b84d95b005f865979c61b8"],["plan","P-HTDSDKW3UQNC","75dc78c9502731a27236b282d901fa66","a274cca2a2d6eac1a4049568ffe3377f"]],"finding":"F-HP9A4W","plan":"P-HTDSDKW3UQNC","plan_hash":"cb35333f7a7340f5d08a8882bc4e23d06ecdbdfcf5f53faee946f3ad665e4853","system":"root@vm","was":null}','F-HP9A4W',NULL);
INSERT INTO "audit_bodies" VALUES(31,'9c117a5b4571a338cbbca054afa6e8020526be4c9a97a7019679c1954b37bf37','{"also":[["finding","F-HP9A4W","awaiting_approval","approved"]],"fence":0,"finding":"F-HP9A4W","from":"awaiting_approval","plan":"P-HTDSDKW3UQNC","run":"run1_lxtep2nxci3fanowrsflbvxgt4","story":"finding.approved","to":"approved"}','F-HP9A4W','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(32,'542e421f22ecb62607cdce6c541e0af21cb404882c8ccbf24b4949bb9ec32ba2','{"also":[["finding","F-HP9A4W","approved","cleaning"]],"attempt":1,"facts":[["plan","P-HTDSDKW3UQNC","a274cca2a2d6eac1a4049568ffe3377f","4000f26203628758fddf29c6ce3fc385"]],"fence":1,"finding":"F-HP9A4W","from":"approved","keys":["rk1.jr65cw.w4s22jhkbzim6tkj2m4umdor33f6ttmrkaw2eup4wie4gnjvn4xa"],"plan":"P-HTDSDKW3UQNC","run":"run1_lxtep2nxci3fanowrsflbvxgt4","story":"finding.cleaning","to":"sent"}','F-HP9A4W','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(33,'3dfd65f2e19d760800314939cbec170bfabe5aacf0b34a277def491383aefdd8','{"also":[["finding","F-HP9A4W","cleaning","cleaned"]],"facts":[["finding","F-HP9A4W","3712816f98b84d95b005f865979c61b8","615ab9c2246e7bf03074e7e252774b38"],["plan","P-HTDSDKW3UQNC","4000f26203628758fddf29c6ce3fc385","7d67ebe027cd7c43b249f230a6f75483"]],"fence":1,"finding":"F-HP9A4W","from":"sent","plan":"P-HTDSDKW3UQNC","run":"run1_lxtep2nxci3fanowrsflbvxgt4","story":"finding.cleaned","to":"succeeded"}','F-HP9A4W','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(34,'510f511d439c54491842e254ab2018ed9edfc8455ff7dcc2d9ae08974dfef133','{"action":"undo","facts":[["plan","P-ZODHPO7NQM3F",null,"43c1223f91c8642564d493db2d4a98b6"]],"finding":"F-9EP338","from":null,"plan":"P-ZODHPO7NQM3F","plan_hash":"571c2b54e145361f5a32fccb254ab85f4d1cd3ba538919f3a0e5b94c4000ea0e","policy":"none","records":1,"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rows":1,"run":null,"to":"approved","undoes":"P-J3542NPM3SBH"}','F-9EP338',NULL);
INSERT INTO "audit_bodies" VALUES(35,'9b2901d3cbe75b098cd02b54631cce5a8153fa678163d3f02993649588421636','{"also":[["plan","P-J3542NPM3SBH","succeeded","compensating"]],"attempt":1,"facts":[["plan","P-ZODHPO7NQM3F","43c1223f91c8642564d493db2d4a98b6","adda1350c5d2f38c198158c74739a53a"]],"fence":1,"finding":"F-9EP338","from":"approved","keys":["rk1.jr65cw.g3jnrmc4n7ocmdcoo5knatyapwljukby7ug6t2oypj62nk7zi5ha"],"plan":"P-ZODHPO7NQM3F","run":null,"to":"sent"}','F-9EP338',NULL);
INSERT INTO "audit_bodies" VALUES(36,'c6140258cde222cc51fe807b3a614f2a798f7479336d9c88beaa89d5df0a823b','{"also":[["plan","P-J3542NPM3SBH","compensating","compensated"],["finding","F-9EP338","cleaned","undone"]],"facts":[["finding","F-9EP338","9acfb1a3125d3c55f2297f9106d653eb","2295d2ffd4030e6054c509d6e4d40ad1"],["plan","P-ZODHPO7NQM3F","adda1350c5d2f38c198158c74739a53a","6c8f4100f9d5815d3367188ee278b0b3"]],"fence":1,"finding":"F-9EP338","from":"sent","plan":"P-ZODHPO7NQM3F","run":null,"story":"finding.undone","to":"succeeded"}','F-9EP338',NULL);
INSERT INTO "audit_bodies" VALUES(37,'b607a66836b49dadf36b31fae1bc85a981871bc8217ecae3861db1cb7388b8b1','{"facts":[["finding","F-YQN36N","e16e894c53c21663b18c7ee6ca1c3835","9bd2627b813c014767532a08a6c08e2d"],["plan","P-DQ7QRLPCACMX","c585fa68edd5210e2bf2b2b7fb10a8e1","1769ef048b670a62caf20880d3a7845a"],["limits","rule:twins","a60178e35b3d2f96aa61d9572eb0e694","06cd4770553b0b1528c3ec8ee41466ac"],["limits","target:sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db","6311be9f3b0652e69654d76a38d64879","8d765075eb0a139cac661668e481543b"]],"fence":0,"finding":"F-YQN36N","from":"awaiting_approval","plan":"P-DQ7QRLPCACMX","reason":"dismissed by root","run":"run1_lxtep2nxci3fanowrsflbvxgt4","to":"skipped"}','F-YQN36N','run1_lxtep2nxci3fanowrsflbvxgt4');
INSERT INTO "audit_bodies" VALUES(38,'c7c0627922f05a8eabc61bab6a537e8878d6c4048c1ebe057abb622b18d19225','{"finding":"F-YQN36N","from":"awaiting_approval","note":"two people","pairs":1,"records":2,"rule":"twins","to":"dismissed","version":2}','F-YQN36N',NULL);
INSERT INTO "audit_bodies" VALUES(39,'5447eac018487810c42d8db850e63509854e120321cde5c7e5d2856565cd84d5','{"facts":[["finding","F-0QN7S1","a26d90c86d3a6e752a4053079ece0ea9","dce086717bc3ff58643af1ded290bfb2"]],"finding":"F-0QN7S1","from":"open","records":2,"rule":"persons","to":"snoozed","until":"2999-01-01 00:00 UTC","version":1}','F-0QN7S1',NULL);
INSERT INTO "audit_bodies" VALUES(40,'d08c13b4bfc19d35460e0b762157e2460f3e5439f66ffa2a428254bd9d19f4c7','{"facts":[["finding","F-BN7SS9","8810ae85556b7fe3ea0fc2ebf0318ab6","7ade5a778ddc7377b7bd5a5e9f88a144"]],"finding":"F-BN7SS9","rule":"persons","whom":"bob"}','F-BN7SS9',NULL);
INSERT INTO "audit_bodies" VALUES(41,'9ddc53a10bbfe614567b5abad4597ed7548ddea2dc9358dd2871d119dea768cb','{"facts":[["finding","F-ZHEGNZ","831805394e1d35f64c269640e035f2cf","10173144f3ce29cc02882391a3b5d1cf"]],"finding":"F-ZHEGNZ","from":"open","note":"refunded","pairs":0,"records":1,"rule":"paid","to":"handled","version":1}','F-ZHEGNZ',NULL);
INSERT INTO "audit_bodies" VALUES(42,'822a543e53e25d29e8591ec076302658fd5b64c71199330269a080455607893c','{"facts":[["user","ada",null,"6de9b62a3dc94cfd7503cda1cdd6f1fa"]],"role":"operator","sees_personal":false,"user":"ada"}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(43,'96d30597935f20cb128289b01415dac1ee3868c11be64c8355b8f26fae0f6482','{"facts":[["finding","F-EBKEQD","0599eca1128428257a5991487c6dd770","fb3095e1b53457997a9f678ba6470bb6"]],"finding":"F-EBKEQD","from":"open","records":1,"rule":"paid","run":"run1_wfbv5xjpi2fkkthoeyojs32s6e","to":"resolved","version":1,"why":"its records no longer match"}','F-EBKEQD','run1_wfbv5xjpi2fkkthoeyojs32s6e');
INSERT INTO "audit_bodies" VALUES(44,'ec23e1cd4f10c480a5597294c6b5a7b28863e7fdfa9fc99845adc7e3656a0df2','{"facts":[["finding","F-0YCZ1C",null,"8255b85b85b74b10751816d815a57d96"]],"finding":"F-0YCZ1C","from":null,"records":1,"rule":"paid","run":"run1_wfbv5xjpi2fkkthoeyojs32s6e","to":"open","version":1}','F-0YCZ1C','run1_wfbv5xjpi2fkkthoeyojs32s6e');
INSERT INTO "audit_bodies" VALUES(45,'628831836b9283e8a20e9a101373fffc3e6b6c047d945e7c153dd7afbb49225e','{"facts":[["finding","F-TQZKBP","2c0ffd411dccb50e9e438b2b465ec398","003311d7f97546c033f05378832cc53e"]],"finding":"F-TQZKBP","from":"open","records":1,"rule":"negative","run":"run1_wfbv5xjpi2fkkthoeyojs32s6e","to":"resolved","version":1,"why":"its records no longer match"}','F-TQZKBP','run1_wfbv5xjpi2fkkthoeyojs32s6e');
INSERT INTO "audit_bodies" VALUES(46,'64953da731bfeb5cd6ceed4d137582e7de38ae9ff9d1f4606015f8b776bd8b99','{"facts":[["limits","rule:twins","06cd4770553b0b1528c3ec8ee41466ac","1d8f15550900578ccdee7fb18d5326b6"],["limits","target:sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db","8d765075eb0a139cac661668e481543b","430f973424907355db8e6066fd5374da"],["plan","P-R6VSTBNFKFSN","3cc41e98bc84edd4202400f8eea6b419","96daa2e77efd42429411f8acc2ed4a76"]]}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(47,'3e2a5a6c6489b3765c5b63cbf01ccf26004c40a485f73b95d678a6429bb45c0b','{"channel":"team","message":"msg1_8b3a6aa7350985e0d326de4c","run":"run1_wfbv5xjpi2fkkthoeyojs32s6e"}',NULL,'run1_wfbv5xjpi2fkkthoeyojs32s6e');
INSERT INTO "audit_bodies" VALUES(48,'48f18b0811b3b7e679a398ded4a76d170d71c7a7078ef8748947be9cf5a866d5','{"attempt":1,"failed":[],"job":"nightly","release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rules":["twins","persons","paid","negative"],"run":"run1_wfbv5xjpi2fkkthoeyojs32s6e","slot":"2026-12-01T23:12:34.138541Z","started":"2026-12-01T23:12:34.171652Z","status":"succeeded","trigger":"manual"}',NULL,'run1_wfbv5xjpi2fkkthoeyojs32s6e');
INSERT INTO "audit_bodies" VALUES(49,'64b14389eb7db1ec98fab5b6b3f2862540654a868f1f9d71e07f71772025e80c','{"attempt":1,"channel":"team","message":"msg1_8b3a6aa7350985e0d326de4c","outcome_unknown":false,"run":"run1_wfbv5xjpi2fkkthoeyojs32s6e"}',NULL,'run1_wfbv5xjpi2fkkthoeyojs32s6e');
INSERT INTO "audit_bodies" VALUES(50,'3dff6f15ce03faf3765fe0cbbeda4a31696f467d548d88c6d96c4d1afb6a3896','{"attempt":1,"channel":"team","found":false,"message":"msg1_8b3a6aa7350985e0d326de4c","receipt":{"details":{"notice":"msg1_8b3a6aa7350985e0d326de4c"},"where":"file messages.jsonl"},"run":"run1_wfbv5xjpi2fkkthoeyojs32s6e"}',NULL,'run1_wfbv5xjpi2fkkthoeyojs32s6e');
CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	head TEXT NOT NULL, 
	CONSTRAINT pk_audit_head PRIMARY KEY (id), 
	CONSTRAINT ck_audit_head_one_row CHECK (id = 1)
);
INSERT INTO "audit_head" VALUES(1,50,'a58a24187179940f271f603fac335eb66ce3aeca5117a7435e25a4f681c499c9');
CREATE TABLE awaited (
	job TEXT NOT NULL, 
	other TEXT NOT NULL, 
	fence BIGINT NOT NULL, 
	CONSTRAINT pk_awaited PRIMARY KEY (job, other)
);
CREATE TABLE breakers (
	target TEXT NOT NULL, 
	state TEXT NOT NULL, 
	failures INTEGER NOT NULL, 
	requests TEXT NOT NULL, 
	opened_at TEXT, 
	probe_at TEXT, 
	fence BIGINT NOT NULL, 
	reason TEXT, 
	CONSTRAINT pk_breakers PRIMARY KEY (target)
);
CREATE TABLE checkpoints (
	seq BIGINT NOT NULL, 
	epoch INTEGER NOT NULL, 
	head TEXT NOT NULL, 
	at TEXT NOT NULL, 
	signer TEXT NOT NULL, 
	signature TEXT NOT NULL, 
	CONSTRAINT pk_checkpoints PRIMARY KEY (seq), 
	CONSTRAINT fk_checkpoints_seq FOREIGN KEY(seq) REFERENCES audit (seq)
);
INSERT INTO "checkpoints" VALUES(21,1,'994c2f7ee28aa73de9960b126f7adeaf5b56698de0683df54c2413b6e485e7b6','2026-12-01T23:12:30.701393Z','1b9e263d87d37ab1705dace36d659a1f950991ff2e09a9b7dc6c9c28a170d07c','102387ac81c22c4405fca1468003eb3eaa3687c0009bd44f84729612bfb775027f3103208c49a5dea12acb21d67ee8b255a56d07aaba82002441df514d152a00');
INSERT INTO "checkpoints" VALUES(24,1,'8b2737816bb2b0e2648251e352abeae178c52824dae585cdc1422a58824013db','2026-12-01T23:12:31.567123Z','1b9e263d87d37ab1705dace36d659a1f950991ff2e09a9b7dc6c9c28a170d07c','38d2d1198c61aceb32d7871f83f93ea25deb8bd43d51b43343fb804a810df3255a9a5a182f51501b2c62af832100bbe6a492fee3451743ee2ecf8a1f8fa31204');
INSERT INTO "checkpoints" VALUES(33,1,'2eef6e7e5019e33a5b741152193e2b8f92192c9e233dc827c47c556c2619e7b4','2026-12-01T23:12:32.856377Z','1b9e263d87d37ab1705dace36d659a1f950991ff2e09a9b7dc6c9c28a170d07c','1c3b742d16bc7f659e44a2c5e15ed81561932ecd53799a56ef361439017f0632f64313c84141da3b58051b6813fc9f6c9a93e3181b3dae88113217a6802fe803');
INSERT INTO "checkpoints" VALUES(36,1,'66aae4005e65993654fa8e2b9659ab963b5df2e71456ffe702a4ae3a317a520a','2026-12-01T23:12:33.124615Z','1b9e263d87d37ab1705dace36d659a1f950991ff2e09a9b7dc6c9c28a170d07c','3de25adf3059019d4eecb9e62b4be4608e42ba4f9bc82fd0ddd260eb20369921a1d59312375762fc14268c61d1a57456477f82c246ef162edf784889cf3c7502');
INSERT INTO "checkpoints" VALUES(50,1,'a58a24187179940f271f603fac335eb66ce3aeca5117a7435e25a4f681c499c9','2026-12-01T23:12:36.692022Z','1b9e263d87d37ab1705dace36d659a1f950991ff2e09a9b7dc6c9c28a170d07c','5408f1327e555ec9553277b3dec9d60ef6f226cce8f4b7413a42ead5f1e8896d8c38a1a73a91ad56283a934a13de6621e49d6938dad661487497ca8d89f47909');
CREATE TABLE cleaning_news (
	"plan" TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	what TEXT NOT NULL, 
	run TEXT, 
	at TEXT NOT NULL, 
	CONSTRAINT pk_cleaning_news PRIMARY KEY ("plan"), 
	CONSTRAINT fk_cleaning_news_plan FOREIGN KEY("plan") REFERENCES plans (id)
);
CREATE TABLE clock (
	id INTEGER NOT NULL, 
	wall TEXT NOT NULL, 
	boot TEXT NOT NULL, 
	boot_ns BIGINT NOT NULL, 
	held_since TEXT, 
	held_from TEXT, 
	CONSTRAINT pk_clock PRIMARY KEY (id), 
	CONSTRAINT ck_clock_one_row CHECK (id = 1)
);
CREATE TABLE dataset_schemas (
	dataset TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	facts TEXT NOT NULL, 
	at TEXT NOT NULL, 
	CONSTRAINT pk_dataset_schemas PRIMARY KEY (dataset, rule)
);
INSERT INTO "dataset_schemas" VALUES('customers','twins','1e25c805782bdb4a8494d66807fb20b12c66ed294a8079cc2f1ac0983bc976c7','{"groups":[["run1_lxtep2nxci3fanowrsflbvxgt4",4],["run1_wfbv5xjpi2fkkthoeyojs32s6e",3]],"previous":{"bare":{},"cleaned":0,"empty":{},"groups":4,"lacking":{"email":0.0,"id":0.0,"status":0.0},"members":8,"read":8,"rule":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","run":"run1_lxtep2nxci3fanowrsflbvxgt4","types":{"email":"text","id":"integer","merged_into":"integer","name":"text","phone":"text","status":"text"},"used":["email","id","merged_into","status"]},"shape":{"bare":{},"cleaned":0,"empty":{},"groups":3,"lacking":{"email":0.0,"id":0.0,"status":0.0},"members":6,"read":8,"rule":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","run":"run1_wfbv5xjpi2fkkthoeyojs32s6e","types":{"email":"text","id":"integer","merged_into":"integer","name":"text","phone":"text","status":"text"},"used":["email","id","merged_into","status"]},"waiting":null}','2026-12-01T23:12:34.676351Z');
CREATE TABLE dataset_stats (
	dataset TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	run TEXT NOT NULL, 
	at TEXT NOT NULL, 
	read BIGINT NOT NULL, 
	scanned BIGINT NOT NULL, 
	skipped BIGINT NOT NULL, 
	groups BIGINT NOT NULL, 
	CONSTRAINT pk_dataset_stats PRIMARY KEY (dataset, rule, run), 
	CONSTRAINT fk_dataset_stats_run FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "dataset_stats" VALUES('customers','twins','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:27.576146Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('customers','persons','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:28.584472Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('orders','paid','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:29.502809Z',3,3,0,4);
INSERT INTO "dataset_stats" VALUES('charges','paid','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:29.502809Z',4,4,0,4);
INSERT INTO "dataset_stats" VALUES('charges','negative','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:29.653406Z',4,4,0,1);
INSERT INTO "dataset_stats" VALUES('customers','twins','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:34.676351Z',8,7,0,3);
INSERT INTO "dataset_stats" VALUES('customers','persons','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:34.874970Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('orders','paid','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:35.462322Z',3,3,0,4);
INSERT INTO "dataset_stats" VALUES('charges','paid','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:35.462322Z',4,4,0,4);
INSERT INTO "dataset_stats" VALUES('charges','negative','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:35.698580Z',4,4,0,0);
CREATE TABLE effects (
	"key" TEXT NOT NULL, 
	"plan" TEXT NOT NULL, 
	target TEXT NOT NULL, 
	effect TEXT NOT NULL, 
	record TEXT NOT NULL, 
	generation INTEGER NOT NULL, 
	fingerprint TEXT NOT NULL, 
	state TEXT NOT NULL, 
	outcome_unknown BOOLEAN NOT NULL, 
	sent_at TEXT NOT NULL, 
	ended_at TEXT, 
	CONSTRAINT pk_effects PRIMARY KEY ("key"), 
	CONSTRAINT fk_effects_plan FOREIGN KEY("plan") REFERENCES plans (id)
);
INSERT INTO "effects" VALUES('rk1.jr65cw.xll2nchza67fxyo5of37nkbd36iillzvqbhnfhcfqjpu7qnxfvdq','P-J3542NPM3SBH','sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','set:merged_into,status','5ac331faab2feae18ae0d6e691ecc1d8e4a88004de4f4894a9b2298937030e48',1,'5457932c4a90947b65ba15a20fdcd3c42b1777bdbecafa554ed239cedd7faa2a','compensated',0,'2026-12-01T23:12:32.098676Z','2026-12-01T23:12:32.137153Z');
INSERT INTO "effects" VALUES('rk1.jr65cw.w4s22jhkbzim6tkj2m4umdor33f6ttmrkaw2eup4wie4gnjvn4xa','P-HTDSDKW3UQNC','sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','set:merged_into,status','65fd0fb859dc670c847fd84f7da2c6cb8f52bb93d00e758eb1b69d4824c7d9b6',1,'4984890929ffc7eb8e11008b7e9d33f5a4f382e42f33d3ff08c449a116f73987','succeeded',0,'2026-12-01T23:12:32.814713Z','2026-12-01T23:12:32.832164Z');
INSERT INTO "effects" VALUES('rk1.jr65cw.g3jnrmc4n7ocmdcoo5knatyapwljukby7ug6t2oypj62nk7zi5ha','P-ZODHPO7NQM3F','sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','set:merged_into,status.undo','5ac331faab2feae18ae0d6e691ecc1d8e4a88004de4f4894a9b2298937030e48',1,'1c74a5a560872906118057da6b52fb3f8ae189444c312b73d76e57dc567642dd','succeeded',0,'2026-12-01T23:12:33.031993Z','2026-12-01T23:12:33.061794Z');
CREATE TABLE erasures (
	id TEXT NOT NULL, 
	at TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	seq BIGINT NOT NULL, 
	subjects TEXT NOT NULL, 
	reached TEXT NOT NULL, 
	CONSTRAINT pk_erasures PRIMARY KEY (id), 
	CONSTRAINT fk_erasures_seq FOREIGN KEY(seq) REFERENCES audit (seq)
);
CREATE TABLE expectations (
	job TEXT NOT NULL, 
	since TEXT, 
	CONSTRAINT pk_expectations PRIMARY KEY (job)
);
CREATE TABLE facts (
	kind TEXT NOT NULL, 
	name TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	CONSTRAINT pk_facts PRIMARY KEY (kind, name)
);
INSERT INTO "facts" VALUES('finding','F-9EP338','2295d2ffd4030e6054c509d6e4d40ad1');
INSERT INTO "facts" VALUES('finding','F-9T063D','6de6a9377f46dda8ff57b555691b78dc');
INSERT INTO "facts" VALUES('finding','F-HP9A4W','615ab9c2246e7bf03074e7e252774b38');
INSERT INTO "facts" VALUES('finding','F-YQN36N','9bd2627b813c014767532a08a6c08e2d');
INSERT INTO "facts" VALUES('rule','twins','326038a29a7a120eb4a6b3546a595048');
INSERT INTO "facts" VALUES('finding','F-0QN7S1','dce086717bc3ff58643af1ded290bfb2');
INSERT INTO "facts" VALUES('finding','F-BN7SS9','7ade5a778ddc7377b7bd5a5e9f88a144');
INSERT INTO "facts" VALUES('finding','F-GBBPV5','290236ad26c666e61eaf4963cfaca15d');
INSERT INTO "facts" VALUES('finding','F-H4HH74','205f46002d63e4144f2d5b277a8548fe');
INSERT INTO "facts" VALUES('rule','persons','80a06217f4b76afcb63a000be4a40239');
INSERT INTO "facts" VALUES('finding','F-CX2T6Q','79ea1759009fadaf4c7a52abc60776a3');
INSERT INTO "facts" VALUES('finding','F-EBKEQD','fb3095e1b53457997a9f678ba6470bb6');
INSERT INTO "facts" VALUES('finding','F-YDB416','6fe5573275432ef910fc61aae58cfd3a');
INSERT INTO "facts" VALUES('finding','F-ZHEGNZ','10173144f3ce29cc02882391a3b5d1cf');
INSERT INTO "facts" VALUES('rule','paid','b3e361556611d2131627f24fb5cc5922');
INSERT INTO "facts" VALUES('finding','F-TQZKBP','003311d7f97546c033f05378832cc53e');
INSERT INTO "facts" VALUES('rule','negative','43501f20683f776a0c624d93f8a83843');
INSERT INTO "facts" VALUES('plan','P-DQ7QRLPCACMX','1769ef048b670a62caf20880d3a7845a');
INSERT INTO "facts" VALUES('plan','P-HTDSDKW3UQNC','7d67ebe027cd7c43b249f230a6f75483');
INSERT INTO "facts" VALUES('plan','P-J3542NPM3SBH','ed43b3f97402fdf1c9991b2c476c2a39');
INSERT INTO "facts" VALUES('plan','P-XU5GND2LNUKT','16dfacb2e2758d192c7d21230cc8302c');
INSERT INTO "facts" VALUES('limits','rule:twins','1d8f15550900578ccdee7fb18d5326b6');
INSERT INTO "facts" VALUES('limits','target:sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','430f973424907355db8e6066fd5374da');
INSERT INTO "facts" VALUES('plan','P-R6VSTBNFKFSN','96daa2e77efd42429411f8acc2ed4a76');
INSERT INTO "facts" VALUES('plan','P-ZODHPO7NQM3F','6c8f4100f9d5815d3367188ee278b0b3');
INSERT INTO "facts" VALUES('user','ada','6de9b62a3dc94cfd7503cda1cdd6f1fa');
INSERT INTO "facts" VALUES('finding','F-0YCZ1C','8255b85b85b74b10751816d815a57d96');
CREATE TABLE failures (
	job TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	sentence TEXT NOT NULL, 
	since TEXT NOT NULL, 
	first_run TEXT NOT NULL, 
	last_run TEXT NOT NULL, 
	CONSTRAINT pk_failures PRIMARY KEY (job, subject), 
	CONSTRAINT fk_failures_first_run FOREIGN KEY(first_run) REFERENCES runs (id), 
	CONSTRAINT fk_failures_last_run FOREIGN KEY(last_run) REFERENCES runs (id)
);
CREATE TABLE finding_aliases (
	fingerprint TEXT NOT NULL, 
	finding TEXT NOT NULL, 
	since TEXT NOT NULL, 
	CONSTRAINT pk_finding_aliases PRIMARY KEY (fingerprint), 
	CONSTRAINT fk_finding_aliases_finding FOREIGN KEY(finding) REFERENCES findings (id)
);
INSERT INTO "finding_aliases" VALUES('7b78eed930f265771e152d5be132faf6a6979eb2cdf4073177837cc6581742c3','F-9EP338','2026-12-01T23:12:27.576146Z');
INSERT INTO "finding_aliases" VALUES('d77034a138293c079229cccc8ab5148a1ff7c179c35013e14165e5cb598a5048','F-9T063D','2026-12-01T23:12:27.576146Z');
INSERT INTO "finding_aliases" VALUES('137cf716af983dad57cae9dad9897219da3f84fe0f7ca16d9633f433dadae2bc','F-HP9A4W','2026-12-01T23:12:27.576146Z');
INSERT INTO "finding_aliases" VALUES('8d0867d1f301957fc530ec9ada71c6413d4e0356e111d5f4578cb7fe8bf104d5','F-YQN36N','2026-12-01T23:12:27.576146Z');
INSERT INTO "finding_aliases" VALUES('c8005c8f81e4564a0d5105828a02754bfad90e2457c46cc11fe28fae37d22bcf','F-0QN7S1','2026-12-01T23:12:28.584472Z');
INSERT INTO "finding_aliases" VALUES('0a20151e72ec0d5de32aacb69a026ba5dfc1f33f0f5346f384234164cc8e5357','F-BN7SS9','2026-12-01T23:12:28.584472Z');
INSERT INTO "finding_aliases" VALUES('4de1127e30e667b660741382ba4887787791903f7d29ed11dbff41c013f6f298','F-GBBPV5','2026-12-01T23:12:28.584472Z');
INSERT INTO "finding_aliases" VALUES('7f80b75f46db68efc66ab0186d2dbc910635a0901d2bbc14b37c8ef5a8df26bd','F-H4HH74','2026-12-01T23:12:28.584472Z');
INSERT INTO "finding_aliases" VALUES('cde5ffef6644b8d5fcdc4893c022ea7c19026f894f92051f9cbfb9ce974c9784','F-CX2T6Q','2026-12-01T23:12:29.502809Z');
INSERT INTO "finding_aliases" VALUES('fee42b732737579d256fc8949f537ed39d92ff1a01edc2197e881558b1ce26ae','F-EBKEQD','2026-12-01T23:12:29.502809Z');
INSERT INTO "finding_aliases" VALUES('6cf4c4403c4ad7c3c91ec17679af2587450d5b6e598cbcd95410d74d2cda5a74','F-YDB416','2026-12-01T23:12:29.502809Z');
INSERT INTO "finding_aliases" VALUES('e6be0250e6a167f7c8a4b4ad09ab4b19c14f2a447611e58d190d68d7865d86e6','F-ZHEGNZ','2026-12-01T23:12:29.502809Z');
INSERT INTO "finding_aliases" VALUES('8844f17012983db39e6a72a011555afe8ffcb90c228e74e2b97c86edbbea3889','F-TQZKBP','2026-12-01T23:12:29.653406Z');
INSERT INTO "finding_aliases" VALUES('d690e314d68d87444246c277eccbe914cee2dd0ae0822749439057d1fa36cd43','F-0YCZ1C','2026-12-01T23:12:35.462322Z');
CREATE TABLE finding_members (
	finding TEXT NOT NULL, 
	record TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	role TEXT NOT NULL, 
	"values" TEXT NOT NULL, 
	first_seen TEXT NOT NULL, 
	settled_at TEXT, 
	chosen_by TEXT, 
	chosen_at TEXT, 
	gives TEXT, 
	CONSTRAINT pk_finding_members PRIMARY KEY (finding, record), 
	CONSTRAINT fk_finding_members_finding FOREIGN KEY(finding) REFERENCES findings (id)
);
INSERT INTO "finding_members" VALUES('F-9EP338','[["n","1"]]',0,'keeper','[["email",["t","ada@example.com"]],["id",["z","1"]]]','2026-12-01T23:12:27.576146Z','2026-12-01T23:12:32.137153Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-9EP338','[["n","2"]]',1,'surplus','[["email",["t"," Ada@example.com"]],["id",["z","2"]]]','2026-12-01T23:12:27.576146Z','2026-12-01T23:12:32.137153Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-9T063D','[["n","7"]]',0,'keeper','[["email",["t","di@example.com"]],["id",["z","7"]]]','2026-12-01T23:12:27.576146Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-9T063D','[["n","8"]]',1,'surplus','[["email",["t","di@example.com"]],["id",["z","8"]]]','2026-12-01T23:12:27.576146Z',NULL,'root','2026-12-01T23:12:31.486083Z',NULL);
INSERT INTO "finding_members" VALUES('F-HP9A4W','[["n","3"]]',0,'keeper','[["email",["t","bob@example.com"]],["id",["z","3"]]]','2026-12-01T23:12:27.576146Z','2026-12-01T23:12:32.832164Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-HP9A4W','[["n","4"]]',1,'surplus','[["email",["t","BOB@example.com"]],["id",["z","4"]]]','2026-12-01T23:12:27.576146Z','2026-12-01T23:12:32.832164Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-YQN36N','[["n","5"]]',0,'keeper','[["email",["t","cy@example.com"]],["id",["z","5"]]]','2026-12-01T23:12:27.576146Z','2026-12-01T23:12:33.173701Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-YQN36N','[["n","6"]]',1,'surplus','[["email",["t","cy@example.com"]],["id",["z","6"]]]','2026-12-01T23:12:27.576146Z','2026-12-01T23:12:33.173701Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-0QN7S1','[["n","5"]]',0,'keeper','[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','2026-12-01T23:12:28.584472Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-0QN7S1','[["n","6"]]',1,'surplus','[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','2026-12-01T23:12:28.584472Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-BN7SS9','[["n","1"]]',0,'keeper','[["phone",["t","+49 1"]],["name",["t","Ada Byron"]]]','2026-12-01T23:12:28.584472Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-BN7SS9','[["n","2"]]',1,'surplus','[["phone",["t","+49 1"]],["name",["t","A. Byron"]]]','2026-12-01T23:12:28.584472Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-GBBPV5','[["n","3"]]',0,'keeper','[["phone",["t","+49 3"]],["name",["t","Bob Roe"]]]','2026-12-01T23:12:28.584472Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-GBBPV5','[["n","4"]]',1,'surplus','[["phone",["t","+49 4"]],["name",["t","Bob Roe"]]]','2026-12-01T23:12:28.584472Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-H4HH74','[["n","7"]]',0,'keeper','[["phone",["t","+49 7"]],["name",["t","Di Poe"]]]','2026-12-01T23:12:28.584472Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-H4HH74','[["n","8"]]',1,'surplus','[["phone",["t","+49 8"]],["name",["t","Di Poe"]]]','2026-12-01T23:12:28.584472Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-CX2T6Q','[["t","B"]]',0,'left','[["id",["t","B"]],["total",["n","20.00"]]]','2026-12-01T23:12:29.502809Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-CX2T6Q','[["@","charges"],["t","c2"]]',1,'right','[["order_id",["t","B"]],["amount",["n","21.50"]]]','2026-12-01T23:12:29.502809Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-EBKEQD','[["@","charges"],["t","c4"]]',0,'right','[["order_id",["t","E"]],["amount",["n","-3.00"]]]','2026-12-01T23:12:29.502809Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-YDB416','[["@","charges"],["t","c3"]]',0,'right','[["order_id",["t","D"]],["amount",["n","7.00"]]]','2026-12-01T23:12:29.502809Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-ZHEGNZ','[["t","C"]]',0,'left','[["id",["t","C"]],["total",["n","30.00"]]]','2026-12-01T23:12:29.502809Z','2026-12-01T23:12:33.473002Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-TQZKBP','[["t","c4"]]',0,'record','[["amount",["n","-3.00"]]]','2026-12-01T23:12:29.653406Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-0YCZ1C','[["@","charges"],["t","c5"]]',0,'right','[["order_id",["t","F"]],["amount",["n","99.00"]]]','2026-12-01T23:12:35.462322Z',NULL,NULL,NULL,NULL);
CREATE TABLE findings (
	id TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	dataset TEXT NOT NULL, 
	state TEXT NOT NULL, 
	severity INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	money TEXT NOT NULL, 
	records INTEGER NOT NULL, 
	first_run TEXT NOT NULL, 
	first_seen TEXT NOT NULL, 
	last_run TEXT NOT NULL, 
	last_seen TEXT NOT NULL, 
	state_since TEXT NOT NULL, 
	snoozed_until TEXT, 
	assigned_to TEXT, 
	decided_by TEXT, 
	note TEXT, 
	merged_into TEXT, 
	digest TEXT, 
	amount_rank DOUBLE DEFAULT 0 NOT NULL, 
	probability DOUBLE, 
	CONSTRAINT pk_findings PRIMARY KEY (id), 
	CONSTRAINT fk_findings_first_run FOREIGN KEY(first_run) REFERENCES runs (id), 
	CONSTRAINT fk_findings_last_run FOREIGN KEY(last_run) REFERENCES runs (id), 
	CONSTRAINT fk_findings_merged_into FOREIGN KEY(merged_into) REFERENCES findings (id)
);
INSERT INTO "findings" VALUES('F-9EP338','7b78eed930f265771e152d5be132faf6a6979eb2cdf4073177837cc6581742c3','twins','duplicates','customers','undone',3,2,'[["email",["t","ada@example.com"]]]','{"change":"new","decided":"undone","not_undone":null,"reason":null,"settled_key":[["email",["t","ada@example.com"]]],"span":null,"summary":true}','{}',2,'run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:27.576146Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:34.676351Z','2026-12-01T23:12:33.061794Z',NULL,NULL,'root',NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-9T063D','d77034a138293c079229cccc8ab5148a1ff7c179c35013e14165e5cb598a5048','twins','duplicates','customers','awaiting_approval',3,3,'[["email",["t","di@example.com"]]]','{"change":"new","reason":null,"span":null,"summary":true}','{}',2,'run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:27.576146Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:34.676351Z','2026-12-01T23:12:31.486083Z',NULL,NULL,NULL,'the newer address',NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-HP9A4W','137cf716af983dad57cae9dad9897219da3f84fe0f7ca16d9633f433dadae2bc','twins','duplicates','customers','cleaned',3,2,'[["email",["t","bob@example.com"]]]','{"change":"new","reason":null,"settled_key":[["email",["t","bob@example.com"]]],"span":null,"summary":true}','{}',2,'run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:27.576146Z','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:27.576146Z','2026-12-01T23:12:32.832164Z',NULL,NULL,'root',NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-YQN36N','8d0867d1f301957fc530ec9ada71c6413d4e0356e111d5f4578cb7fe8bf104d5','twins','duplicates','customers','dismissed',3,2,'[["email",["t","cy@example.com"]]]','{"change":"new","decided":"dismissed","reason":null,"settled_key":[["email",["t","cy@example.com"]]],"span":null,"summary":true}','{}',2,'run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:27.576146Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:34.676351Z','2026-12-01T23:12:33.173701Z',NULL,NULL,'root','two people',NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-0QN7S1','c8005c8f81e4564a0d5105828a02754bfad90e2457c46cc11fe28fae37d22bcf','persons','duplicates','customers','snoozed',3,1,'[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','{"change":"new","judged":[["@by phone",["t","+49 5"]],["@by name",["t","Cy Doe"]]],"links":[[0,1,[0,1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:28.584472Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:34.874970Z','2026-12-01T23:12:33.314405Z','2999-01-01T00:00:00.000000Z',NULL,'root',NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-BN7SS9','0a20151e72ec0d5de32aacb69a026ba5dfc1f33f0f5346f384234164cc8e5357','persons','duplicates','customers','open',3,1,'[["phone",["t","+49 1"]]]','{"change":"new","judged":[["@by phone",["t","+49 1"]]],"links":[[0,1,[0],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:28.584472Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:34.874970Z','2026-12-01T23:12:28.584472Z',NULL,'bob',NULL,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-GBBPV5','4de1127e30e667b660741382ba4887787791903f7d29ed11dbff41c013f6f298','persons','duplicates','customers','open',3,1,'[["name",["t","Bob Roe"]]]','{"change":"new","judged":[["@by name",["t","Bob Roe"]]],"links":[[0,1,[1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:28.584472Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:34.874970Z','2026-12-01T23:12:28.584472Z',NULL,NULL,NULL,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-H4HH74','7f80b75f46db68efc66ab0186d2dbc910635a0901d2bbc14b37c8ef5a8df26bd','persons','duplicates','customers','open',3,1,'[["name",["t","Di Poe"]]]','{"change":"new","judged":[["@by name",["t","Di Poe"]]],"links":[[0,1,[1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:28.584472Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:34.874970Z','2026-12-01T23:12:28.584472Z',NULL,NULL,NULL,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-CX2T6Q','cde5ffef6644b8d5fcdc4893c022ea7c19026f894f92051f9cbfb9ce974c9784','paid','reconciliation','orders','open',3,1,'[["id",["t","B"]]]','{"change":"new","datasets":["orders","charges"],"differing":[["total / amount",["n","20.00"],["n","21.50"],"total","amount"]],"form":"mismatch","form_reason":null,"judged":[["id",["t","B"]],["@form",["t","mismatch"]],["@at risk EUR",["n","1.50"]],["@left total",["n","20.00"]],["@right amount",["n","21.50"]]],"peaks":[["@at risk EUR","1.50"],["total / amount","1.50"]],"reason":null,"span":null,"summary":true}','{"EUR":"-1.50"}',2,'run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:29.502809Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:35.462322Z','2026-12-01T23:12:29.502809Z',NULL,NULL,NULL,NULL,NULL,NULL,-1.5,NULL);
INSERT INTO "findings" VALUES('F-EBKEQD','fee42b732737579d256fc8949f537ed39d92ff1a01edc2197e881558b1ce26ae','paid','reconciliation','orders','resolved',3,1,'[["id",["t","E"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","E"]],["@form",["t","right_only"]],["@at risk EUR",["n","3.00"]]],"peaks":[["@at risk EUR","3.00"]],"reason":"its records no longer match","span":null,"summary":true}','{"EUR":"3.00"}',1,'run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:29.502809Z','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:29.502809Z','2026-12-01T23:12:35.462322Z',NULL,NULL,NULL,NULL,NULL,NULL,-3.0,NULL);
INSERT INTO "findings" VALUES('F-YDB416','6cf4c4403c4ad7c3c91ec17679af2587450d5b6e598cbcd95410d74d2cda5a74','paid','reconciliation','orders','open',3,1,'[["id",["t","D"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","D"]],["@form",["t","right_only"]],["@at risk EUR",["n","7.00"]]],"peaks":[["@at risk EUR","7.00"]],"reason":null,"span":null,"summary":true}','{"EUR":"-7.00"}',1,'run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:29.502809Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:35.462322Z','2026-12-01T23:12:29.502809Z',NULL,NULL,NULL,NULL,NULL,NULL,-7.0,NULL);
INSERT INTO "findings" VALUES('F-ZHEGNZ','e6be0250e6a167f7c8a4b4ad09ab4b19c14f2a447611e58d190d68d7865d86e6','paid','reconciliation','orders','handled',3,1,'[["id",["t","C"]]]','{"change":"new","datasets":["orders","charges"],"decided":"handled","decided_money":{"EUR":"30.00"},"differing":[],"form":"left_only","form_reason":null,"judged":[["id",["t","C"]],["@form",["t","left_only"]],["@at risk EUR",["n","30.00"]]],"peaks":[["@at risk EUR","30.00"]],"reason":null,"settled_key":[["id",["t","C"]],["@form",["t","left_only"]],["@at risk EUR",["n","30.00"]]],"span":null,"summary":true}','{"EUR":"30.00"}',1,'run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:29.502809Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:35.462322Z','2026-12-01T23:12:33.473002Z',NULL,NULL,'root','refunded',NULL,NULL,-30.0,NULL);
INSERT INTO "findings" VALUES('F-TQZKBP','8844f17012983db39e6a72a011555afe8ffcb90c228e74e2b97c86edbbea3889','negative','check','charges','resolved',3,1,'[["id",["t","c4"]],["amount",["n","-3.00"]]]','{"change":"new","form":"condition","judged":[["id",["t","c4"]],["amount",["n","-3.00"]]],"peaks":[["@at risk EUR","3.00"]],"reason":"its records no longer match","span":null,"summary":true}','{"EUR":"-3.00"}',1,'run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:29.653406Z','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:29.653406Z','2026-12-01T23:12:35.698580Z',NULL,NULL,NULL,NULL,NULL,NULL,-3.0,NULL);
INSERT INTO "findings" VALUES('F-0YCZ1C','d690e314d68d87444246c277eccbe914cee2dd0ae0822749439057d1fa36cd43','paid','reconciliation','orders','open',3,1,'[["id",["t","F"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","F"]],["@form",["t","right_only"]],["@at risk EUR",["n","99.00"]]],"peaks":[["@at risk EUR","99.00"]],"reason":null,"span":null,"summary":false}','{"EUR":"-99.00"}',1,'run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:35.462322Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:35.462322Z','2026-12-01T23:12:35.462322Z',NULL,NULL,NULL,NULL,NULL,NULL,-99.0,NULL);
CREATE TABLE guard_counts (
	namespace TEXT NOT NULL, 
	event TEXT NOT NULL, 
	count BIGINT NOT NULL, 
	CONSTRAINT pk_guard_counts PRIMARY KEY (namespace, event)
);
INSERT INTO "guard_counts" VALUES('welcome','created',3);
INSERT INTO "guard_counts" VALUES('welcome','failed',1);
INSERT INTO "guard_counts" VALUES('welcome','used',1);
CREATE TABLE guarded_keys (
	"key" TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	state TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	fence BIGINT NOT NULL, 
	attempts INTEGER NOT NULL, 
	refusals INTEGER NOT NULL, 
	claimed_by TEXT NOT NULL, 
	lease_until TEXT NOT NULL, 
	lease_boot TEXT, 
	created_at TEXT NOT NULL, 
	changed_at TEXT NOT NULL, 
	keep_until TEXT NOT NULL, 
	result TEXT, 
	reason TEXT, 
	CONSTRAINT pk_guarded_keys PRIMARY KEY ("key")
);
INSERT INTO "guarded_keys" VALUES('gk1.54gpwo.rkdz2fiw2ujye3bwjsf4snpzqkrjfpae','welcome','done','a63d4afbc947127a16fde2f41334f0f261debe18a6c8dc6dc526122a9f277169',1796166756777910,1,0,'vm/18068/3c6bc38a2c9567d5','2026-12-01T23:17:36.777910Z',NULL,'2026-12-01T23:12:36.777910Z','2026-12-01T23:12:36.788030Z','2028-01-05T23:12:36.788030Z','{"message":"m-1"}',NULL);
INSERT INTO "guarded_keys" VALUES('gk1.54gpwo.6i3svz5c3y45lm7xk4ci7xvscloqgqkl','welcome','failed','a63d4afbc947127a16fde2f41334f0f261debe18a6c8dc6dc526122a9f277169',1796166756792281,1,0,'vm/18068/2332f09653ca4e60','2026-12-01T23:17:36.792281Z',NULL,'2026-12-01T23:12:36.792281Z','2026-12-01T23:12:36.796551Z','2028-01-05T23:12:36.796551Z',NULL,'no address');
INSERT INTO "guarded_keys" VALUES('gk1.54gpwo.6dloqlq4cbwdayhiwaamyqcdpbpclj23','welcome','in_progress','a63d4afbc947127a16fde2f41334f0f261debe18a6c8dc6dc526122a9f277169',1796166756797584,1,0,'vm/18068/8496a6806acd1f1a','2026-12-01T23:17:36.797584Z','5591d2e6-64f6-4519-b354-acee5d89578e 2534628932926','2026-12-01T23:12:36.797584Z','2026-12-01T23:12:36.797584Z','2028-01-05T23:12:36.797584Z',NULL,NULL);
CREATE TABLE holds (
	target TEXT NOT NULL, 
	record TEXT NOT NULL, 
	"plan" TEXT NOT NULL, 
	role TEXT NOT NULL, 
	since TEXT NOT NULL, 
	CONSTRAINT pk_holds PRIMARY KEY (target, record, "plan"), 
	CONSTRAINT fk_holds_plan FOREIGN KEY("plan") REFERENCES plans (id)
);
CREATE TABLE keyed_requests (
	user TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	received_at TEXT NOT NULL, 
	answer TEXT, 
	CONSTRAINT pk_keyed_requests PRIMARY KEY (user, "key")
);
CREATE TABLE leases (
	name TEXT NOT NULL, 
	owner TEXT, 
	fence BIGINT NOT NULL, 
	lease_until TEXT NOT NULL, 
	taken_at TEXT NOT NULL, 
	CONSTRAINT pk_leases PRIMARY KEY (name)
);
INSERT INTO "leases" VALUES('job:nightly',NULL,2,'2026-12-01T23:12:36.578181Z','2026-12-01T23:12:34.151386Z');
INSERT INTO "leases" VALUES('compaction',NULL,0,'2026-12-02T23:12:30.555224Z','2026-12-01T23:12:30.555224Z');
CREATE TABLE limit_uses (
	"plan" TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	target TEXT NOT NULL, 
	run TEXT, 
	at TEXT NOT NULL, 
	records INTEGER NOT NULL, 
	money TEXT NOT NULL, 
	CONSTRAINT pk_limit_uses PRIMARY KEY ("plan"), 
	CONSTRAINT fk_limit_uses_plan FOREIGN KEY("plan") REFERENCES plans (id)
);
INSERT INTO "limit_uses" VALUES('P-HTDSDKW3UQNC','twins','sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:30.271715Z',1,'{}');
INSERT INTO "limit_uses" VALUES('P-J3542NPM3SBH','twins','sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:30.271715Z',1,'{}');
INSERT INTO "limit_uses" VALUES('P-R6VSTBNFKFSN','twins','sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:36.247968Z',1,'{}');
CREATE TABLE limits (
	scope TEXT NOT NULL, 
	stopped_at TEXT, 
	reason TEXT, 
	counted_at TEXT, 
	day_records BIGINT NOT NULL, 
	day_money TEXT NOT NULL, 
	run TEXT, 
	run_records BIGINT NOT NULL, 
	run_money TEXT NOT NULL, 
	CONSTRAINT pk_limits PRIMARY KEY (scope)
);
INSERT INTO "limits" VALUES('target:sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db',NULL,NULL,'2026-12-01T23:12:36.247968Z',3,'{}','run1_wfbv5xjpi2fkkthoeyojs32s6e',1,'{}');
INSERT INTO "limits" VALUES('rule:twins',NULL,NULL,'2026-12-01T23:12:36.247968Z',3,'{}','run1_wfbv5xjpi2fkkthoeyojs32s6e',1,'{}');
CREATE TABLE meta (
	id INTEGER NOT NULL, 
	store_id TEXT NOT NULL, 
	epoch INTEGER NOT NULL, 
	revision TEXT NOT NULL, 
	key_check TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_meta PRIMARY KEY (id), 
	CONSTRAINT ck_meta_one_row CHECK (id = 1)
);
INSERT INTO "meta" VALUES(1,'st_d73a002ecdea83dcccbb411462e1f86a',1,'0023','be5037402f908c24d95fde574f783c780bf2d15817efe0520b5e0c1a15583861','2026-12-01T23:12:26.613032Z');
CREATE TABLE not_same (
	rule TEXT NOT NULL, 
	record_a TEXT NOT NULL, 
	record_b TEXT NOT NULL, 
	values_a TEXT NOT NULL, 
	values_b TEXT NOT NULL, 
	finding TEXT, 
	decided_by TEXT NOT NULL, 
	decided_at TEXT NOT NULL, 
	note TEXT, 
	decision TEXT, 
	pair TEXT, 
	kind TEXT, 
	dataset TEXT, 
	CONSTRAINT pk_not_same PRIMARY KEY (rule, record_a, record_b), 
	CONSTRAINT ck_not_same_ordered CHECK (record_a < record_b), 
	CONSTRAINT fk_not_same_finding FOREIGN KEY(finding) REFERENCES findings (id), 
	CONSTRAINT uq_not_same_pair UNIQUE (pair)
);
INSERT INTO "not_same" VALUES('twins','[["n","1"]]','[["n","2"]]','[["email",["t","ada@example.com"]]]','[["email",["t","ada@example.com"]]]','F-9EP338','reconcile','2026-12-01T23:12:33.061794Z',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "not_same" VALUES('twins','[["n","5"]]','[["n","6"]]','[["email",["t","cy@example.com"]]]','[["email",["t","cy@example.com"]]]','F-YQN36N','root','2026-12-01T23:12:33.173701Z','two people',NULL,NULL,NULL,NULL);
CREATE TABLE notified (
	finding TEXT NOT NULL, 
	channel TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	message TEXT NOT NULL, 
	at TEXT NOT NULL, 
	before_version INTEGER, 
	before_message TEXT, 
	before_at TEXT, 
	CONSTRAINT pk_notified PRIMARY KEY (finding, channel), 
	CONSTRAINT fk_notified_finding FOREIGN KEY(finding) REFERENCES findings (id), 
	CONSTRAINT fk_notified_message FOREIGN KEY(message) REFERENCES outbox (message)
);
INSERT INTO "notified" VALUES('F-ZHEGNZ','team',1,'msg1_9efc6445feedaf326abc4ceb','2026-12-01T23:12:30.406182Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-YDB416','team',1,'msg1_9efc6445feedaf326abc4ceb','2026-12-01T23:12:30.406182Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-EBKEQD','team',1,'msg1_9efc6445feedaf326abc4ceb','2026-12-01T23:12:30.406182Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-TQZKBP','team',1,'msg1_9efc6445feedaf326abc4ceb','2026-12-01T23:12:30.406182Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-CX2T6Q','team',1,'msg1_9efc6445feedaf326abc4ceb','2026-12-01T23:12:30.406182Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-0QN7S1','team',1,'msg1_9efc6445feedaf326abc4ceb','2026-12-01T23:12:30.406182Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-BN7SS9','team',1,'msg1_9efc6445feedaf326abc4ceb','2026-12-01T23:12:30.406182Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-GBBPV5','team',1,'msg1_9efc6445feedaf326abc4ceb','2026-12-01T23:12:30.406182Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-H4HH74','team',1,'msg1_9efc6445feedaf326abc4ceb','2026-12-01T23:12:30.406182Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-9EP338','team',2,'msg1_9efc6445feedaf326abc4ceb','2026-12-01T23:12:30.406182Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-9T063D','team',3,'msg1_9efc6445feedaf326abc4ceb','2026-12-01T23:12:30.406182Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-HP9A4W','team',2,'msg1_9efc6445feedaf326abc4ceb','2026-12-01T23:12:30.406182Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-YQN36N','team',2,'msg1_9efc6445feedaf326abc4ceb','2026-12-01T23:12:30.406182Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-0YCZ1C','team',1,'msg1_8b3a6aa7350985e0d326de4c','2026-12-01T23:12:36.423477Z',NULL,NULL,NULL);
CREATE TABLE outbox (
	message TEXT NOT NULL, 
	channel TEXT NOT NULL, 
	job TEXT NOT NULL, 
	run TEXT, 
	notice TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	status TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	queued_at TEXT NOT NULL, 
	next_at TEXT NOT NULL, 
	give_up_at TEXT NOT NULL, 
	fence BIGINT NOT NULL, 
	owner TEXT, 
	lease_until TEXT NOT NULL, 
	outcome_unknown BOOLEAN NOT NULL, 
	problem TEXT, 
	receipt TEXT, 
	sent_at TEXT, 
	held TEXT, 
	shown TEXT, 
	shown_at TEXT, 
	updates INTEGER, 
	CONSTRAINT pk_outbox PRIMARY KEY (message), 
	CONSTRAINT fk_outbox_run FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "outbox" VALUES('msg1_9efc6445feedaf326abc4ceb','team','nightly','run1_lxtep2nxci3fanowrsflbvxgt4','{"id":"msg1_9efc6445feedaf326abc4ceb","job":"nightly","run":"run1_lxtep2nxci3fanowrsflbvxgt4","slot":"2026-12-01T23:12:22.980005Z","rules":[{"rule":"twins","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":4,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"persons","severity":"medium","dataset":"customers","new":4,"grown":0,"reopened":0,"known":0,"resolved":0,"records":4,"money":{},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-0QN7S1","state":"new","key":{"phone":"+49 5","name":"Cy Doe"},"keeper":"5","surplus":["6"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-BN7SS9","state":"new","key":{"phone":"+49 1"},"keeper":"1","surplus":["2"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-GBBPV5","state":"new","key":{"name":"Bob Roe"},"keeper":"3","surplus":["4"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-H4HH74","state":"new","key":{"name":"Di Poe"},"keeper":"7","surplus":["8"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"paid","severity":"medium","dataset":"orders","new":4,"grown":0,"reopened":0,"known":0,"resolved":0,"records":0,"money":{"EUR":"41.50"},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-ZHEGNZ","state":"new","key":{"id":"C"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"30.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"left_only","in_words":"missing in charges","left":["orders C"],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-YDB416","state":"new","key":{"id":"D"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"7.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c3"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-EBKEQD","state":"new","key":{"id":"E"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"3.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c4"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-CX2T6Q","state":"new","key":{"id":"B"},"keeper":"","surplus":[],"records":2,"money":{"EUR":"1.50"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"mismatch","in_words":"values differ","left":["orders B"],"right":["charges c2"],"differences":[{"column":"total / amount","left":"20.00","right":"21.50","apart":"by 1.50"}],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"reconciliation","datasets":["orders","charges"],"nouns":["discrepancy","discrepancies"],"forms":{"left_only":1,"mismatch":1,"right_only":2},"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"balance":[{"currency":"EUR","left":"60.00","right":"35.50","matched":"0.00","explained":"24.50","not_yet_due":"0","by_form":{"missing in charges":"30.00","missing in orders":"-4.00","values differ":"-1.50"},"not_reported":"0"}],"undecided":0,"first_message":false},{"rule":"negative","severity":"medium","dataset":"charges","new":1,"grown":0,"reopened":0,"known":0,"resolved":0,"records":0,"money":{"EUR":"3.00"},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-TQZKBP","state":"new","key":{"id":"c4","amount":"-3.00"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"3.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"condition","in_words":"amount is less than 0","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":"c4"}],"skipped":[],"kind":"check","datasets":[],"nouns":["failing record","failing records"],"forms":{"condition":1},"in_words":["1 failing record"],"balance":[],"undecided":0,"first_message":false}],"failures":[],"link":null,"test":false,"since":null,"created":"2026-12-01T23:12:30.406182Z","timezone":"UTC","trouble":null,"cleaning":[{"rule":"twins","severity":"medium","dataset":"customers","awaiting":4,"quarantined":0,"failed":0,"cleaned":0,"stale":0,"waiting":0,"money":{},"stopped":null,"undo":null,"findings":[{"finding":"F-9EP338","state":"awaiting_approval","key":{"email":"ada@example.com"},"keeper":"1","surplus":["2"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"c6c19977fcdb4961778c5c223855cff0fa6e0070c792f961c5886f3e878fc589","plan_does":"mark 1 record","plan_expires":"2026-12-08T23:12:30.271715Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-9T063D","state":"awaiting_approval","key":{"email":"di@example.com"},"keeper":"7","surplus":["8"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"9d4c9311ad366a7c395cba1216f49accd38dc18381b6aceb17a6761625709637","plan_does":"mark 1 record","plan_expires":"2026-12-08T23:12:30.271715Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-HP9A4W","state":"awaiting_approval","key":{"email":"bob@example.com"},"keeper":"3","surplus":["4"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"cb35333f7a7340f5d08a8882bc4e23d06ecdbdfcf5f53faee946f3ad665e4853","plan_does":"mark 1 record","plan_expires":"2026-12-08T23:12:30.271715Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-YQN36N","state":"awaiting_approval","key":{"email":"cy@example.com"},"keeper":"5","surplus":["6"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"691c79fb3db7a101b7fb5fb702a9ed3d7468fe8013575574e19870ff816481f4","plan_does":"mark 1 record","plan_expires":"2026-12-08T23:12:30.271715Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"owner":null,"not_undone":0,"next_run":null,"runbook":null,"undone":0,"undos_waiting":0,"expired":0,"void":0,"withdrawn":0,"waits_for":null,"doubt":null,"plans":[]}],"project":null,"escalation":null,"fallback_of":null}',1,'sent',1,'2026-12-01T23:12:30.406182Z','2026-12-01T23:12:30.406182Z','2026-12-04T23:12:30.406182Z',1,NULL,'2026-12-01T23:17:30.506499Z',0,NULL,'{"details":{"notice":"msg1_9efc6445feedaf326abc4ceb"},"where":"file messages.jsonl"}','2026-12-01T23:12:30.518328Z',NULL,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES('msg1_8b3a6aa7350985e0d326de4c','team','nightly','run1_wfbv5xjpi2fkkthoeyojs32s6e','{"id":"msg1_8b3a6aa7350985e0d326de4c","job":"nightly","run":"run1_wfbv5xjpi2fkkthoeyojs32s6e","slot":"2026-12-01T23:12:34.138541Z","rules":[{"rule":"twins","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":1,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"persons","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":4,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"paid","severity":"medium","dataset":"orders","new":1,"grown":0,"reopened":0,"known":2,"resolved":1,"records":0,"money":{"EUR":"99.00"},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-0YCZ1C","state":"new","key":{"id":"F"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"99.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c5"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"reconciliation","datasets":["orders","charges"],"nouns":["discrepancy","discrepancies"],"forms":{"right_only":1},"in_words":["1 missing in orders"],"balance":[{"currency":"EUR","left":"60.00","right":"137.50","matched":"0.00","explained":"-77.50","not_yet_due":"0","by_form":{"missing in charges":"30.00","missing in orders":"-106.00","values differ":"-1.50"},"not_reported":"0"}],"undecided":0,"first_message":false},{"rule":"negative","severity":"medium","dataset":"charges","new":0,"grown":0,"reopened":0,"known":0,"resolved":1,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"check","datasets":[],"nouns":["failing record","failing records"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false}],"failures":[],"link":null,"test":false,"since":"2026-12-01T23:12:22.980005Z","created":"2026-12-01T23:12:36.423477Z","timezone":"UTC","trouble":null,"cleaning":[{"rule":"twins","severity":"medium","dataset":"customers","awaiting":0,"quarantined":0,"failed":0,"cleaned":2,"stale":0,"waiting":0,"money":{},"stopped":null,"undo":"reconcile undo F-HP9A4W","findings":[],"owner":null,"not_undone":0,"next_run":null,"runbook":null,"undone":1,"undos_waiting":0,"expired":0,"void":0,"withdrawn":0,"waits_for":null,"doubt":null,"plans":[{"finding":"F-9EP338","what":"cleaned","does":"mark 1 record","why":null},{"finding":"F-HP9A4W","what":"cleaned","does":"mark 1 record","why":null},{"finding":"F-9EP338","what":"undone","does":"","why":null}]}],"project":null,"escalation":null,"fallback_of":null}',1,'sent',1,'2026-12-01T23:12:36.423477Z','2026-12-01T23:12:36.423477Z','2026-12-04T23:12:36.423477Z',1,NULL,'2026-12-01T23:17:36.593614Z',0,NULL,'{"details":{"notice":"msg1_8b3a6aa7350985e0d326de4c"},"where":"file messages.jsonl"}','2026-12-01T23:12:36.636490Z',NULL,NULL,NULL,NULL);
CREATE TABLE pauses (
	subject TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	since TEXT NOT NULL, 
	until TEXT, 
	CONSTRAINT pk_pauses PRIMARY KEY (subject)
);
CREATE TABLE plans (
	id TEXT NOT NULL, 
	finding TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	dataset TEXT NOT NULL, 
	source TEXT NOT NULL, 
	target TEXT NOT NULL, 
	action TEXT NOT NULL, 
	run TEXT, 
	release TEXT NOT NULL, 
	plan_hash TEXT NOT NULL, 
	undoes TEXT, 
	state TEXT NOT NULL, 
	reason TEXT, 
	content TEXT, 
	outcome TEXT, 
	summary TEXT NOT NULL, 
	records INTEGER NOT NULL, 
	rows INTEGER NOT NULL, 
	money TEXT NOT NULL, 
	reversible TEXT NOT NULL, 
	policy TEXT NOT NULL, 
	proposed_by TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	expires_at TEXT, 
	fence BIGINT NOT NULL, 
	owner TEXT, 
	lease_until TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	next_at TEXT NOT NULL, 
	give_up_at TEXT, 
	"transaction" TEXT, 
	sent_at TEXT, 
	ended_at TEXT, 
	CONSTRAINT pk_plans PRIMARY KEY (id), 
	CONSTRAINT fk_plans_finding FOREIGN KEY(finding) REFERENCES findings (id), 
	CONSTRAINT fk_plans_run FOREIGN KEY(run) REFERENCES runs (id), 
	CONSTRAINT fk_plans_release FOREIGN KEY(release) REFERENCES releases (hash), 
	CONSTRAINT fk_plans_undoes FOREIGN KEY(undoes) REFERENCES plans (id)
);
INSERT INTO "plans" VALUES('P-J3542NPM3SBH','F-9EP338','twins','customers','shop','sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','set','run1_lxtep2nxci3fanowrsflbvxgt4','e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','c6c19977fcdb4961778c5c223855cff0fa6e0070c792f961c5886f3e878fc589',NULL,'compensated',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"b2ea6de458a1612f851eebfd741cc47067acad812d83728764d1051e12328f10","changes":[{"after":{},"before":{"email":["t","ada@example.com"],"id":["i","1"],"merged_into":null,"name":["t","Ada Byron"],"phone":["t","+49 1"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","1"]]],"table":"customers"}},{"after":{"merged_into":["i","1"],"status":["t","duplicate"]},"before":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":null,"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","2"]]],"table":"customers"}}],"dataset":"customers","finding":"F-9EP338","ignore_drift":[],"keeper":"[[\"n\",\"1\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"5457932c4a90947b65ba15a20fdcd3c42b1777bdbecafa554ed239cedd7faa2a","generation":1,"record":"[[\"n\",\"2\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"c5ed8f0d8c6360219e342f3631ef164f","source":"shop","table":"customers","target":"sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db","triggers":[],"undoes":null,"why":[]}','[{"after":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":["i","1"],"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","duplicate"]}}]','{"approved_within":{"group":5,"money":{},"records":100,"share":"1","source_money":{},"source_records":100},"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T23:12:30.271715Z','2026-12-08T23:12:30.271715Z',1,NULL,'2026-12-01T23:13:32.098676Z',1,'2026-12-01T23:12:31.644142Z',NULL,NULL,'2026-12-01T23:12:32.098676Z','2026-12-01T23:12:32.137153Z');
INSERT INTO "plans" VALUES('P-XU5GND2LNUKT','F-9T063D','twins','customers','shop','sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','set','run1_lxtep2nxci3fanowrsflbvxgt4','e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','9d4c9311ad366a7c395cba1216f49accd38dc18381b6aceb17a6761625709637',NULL,'skipped','root chose another keeper','{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"b2ea6de458a1612f851eebfd741cc47067acad812d83728764d1051e12328f10","changes":[{"after":{},"before":{"email":["t","di@example.com"],"id":["i","7"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 7"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","7"]]],"table":"customers"}},{"after":{"merged_into":["i","7"],"status":["t","duplicate"]},"before":{"email":["t","di@example.com"],"id":["i","8"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 8"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","8"]]],"table":"customers"}}],"dataset":"customers","finding":"F-9T063D","ignore_drift":[],"keeper":"[[\"n\",\"7\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"b11b6bb20da943a09d13fc7a4576112717a88f641a4fd8161bd77b2d8d53b901","generation":1,"record":"[[\"n\",\"8\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"5b9d81b40608ebe0dba10dca237ea07c","source":"shop","table":"customers","target":"sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T23:12:30.271715Z','2026-12-08T23:12:30.271715Z',0,NULL,'2026-12-01T23:12:30.271715Z',0,'2026-12-01T23:12:30.271715Z',NULL,NULL,NULL,'2026-12-01T23:12:31.486083Z');
INSERT INTO "plans" VALUES('P-HTDSDKW3UQNC','F-HP9A4W','twins','customers','shop','sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','set','run1_lxtep2nxci3fanowrsflbvxgt4','e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','cb35333f7a7340f5d08a8882bc4e23d06ecdbdfcf5f53faee946f3ad665e4853',NULL,'succeeded',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"b2ea6de458a1612f851eebfd741cc47067acad812d83728764d1051e12328f10","changes":[{"after":{},"before":{"email":["t","bob@example.com"],"id":["i","3"],"merged_into":null,"name":["t","Bob Roe"],"phone":["t","+49 3"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","3"]]],"table":"customers"}},{"after":{"merged_into":["i","3"],"status":["t","duplicate"]},"before":{"email":["t","BOB@example.com"],"id":["i","4"],"merged_into":null,"name":["t","Bob Roe"],"phone":["t","+49 4"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","4"]]],"table":"customers"}}],"dataset":"customers","finding":"F-HP9A4W","ignore_drift":[],"keeper":"[[\"n\",\"3\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"4984890929ffc7eb8e11008b7e9d33f5a4f382e42f33d3ff08c449a116f73987","generation":1,"record":"[[\"n\",\"4\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"f9f69692cb19dfe36da63dcdd81f0ab1","source":"shop","table":"customers","target":"sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db","triggers":[],"undoes":null,"why":[]}','[{"after":{"email":["t","BOB@example.com"],"id":["i","4"],"merged_into":["i","3"],"name":["t","Bob Roe"],"phone":["t","+49 4"],"status":["t","duplicate"]}}]','{"approved_within":{"group":5,"money":{},"records":100,"share":"1","source_money":{},"source_records":100},"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T23:12:30.271715Z','2026-12-08T23:12:30.271715Z',1,NULL,'2026-12-01T23:13:32.814713Z',1,'2026-12-01T23:12:32.204015Z',NULL,NULL,'2026-12-01T23:12:32.814713Z','2026-12-01T23:12:32.832164Z');
INSERT INTO "plans" VALUES('P-DQ7QRLPCACMX','F-YQN36N','twins','customers','shop','sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','set','run1_lxtep2nxci3fanowrsflbvxgt4','e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','691c79fb3db7a101b7fb5fb702a9ed3d7468fe8013575574e19870ff816481f4',NULL,'skipped','dismissed by root','{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"b2ea6de458a1612f851eebfd741cc47067acad812d83728764d1051e12328f10","changes":[{"after":{},"before":{"email":["t","cy@example.com"],"id":["i","5"],"merged_into":null,"name":["t","Cy Doe"],"phone":["t","+49 5"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","5"]]],"table":"customers"}},{"after":{"merged_into":["i","5"],"status":["t","duplicate"]},"before":{"email":["t","cy@example.com"],"id":["i","6"],"merged_into":null,"name":["t","Cy Doe"],"phone":["t","+49 5"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","6"]]],"table":"customers"}}],"dataset":"customers","finding":"F-YQN36N","ignore_drift":[],"keeper":"[[\"n\",\"5\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"d9d65e44f3d47e7a78edc49393184a50ad80a4b361756da9273b2139dd7f12b7","generation":1,"record":"[[\"n\",\"6\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"2684f85ff8ddaed4554a922675c9ccd6","source":"shop","table":"customers","target":"sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T23:12:30.271715Z','2026-12-08T23:12:30.271715Z',0,NULL,'2026-12-01T23:12:30.271715Z',0,'2026-12-01T23:12:30.271715Z',NULL,NULL,NULL,'2026-12-01T23:12:33.173701Z');
INSERT INTO "plans" VALUES('P-R6VSTBNFKFSN','F-9T063D','twins','customers','shop','sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','set',NULL,'e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','5ac810375d952d9ae9f1c1bc29e895c7853b9b4f726b597aca7ccad00f145f9e',NULL,'awaiting_approval',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"b2ea6de458a1612f851eebfd741cc47067acad812d83728764d1051e12328f10","changes":[{"after":{},"before":{"email":["t","di@example.com"],"id":["i","8"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 8"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","8"]]],"table":"customers"}},{"after":{"merged_into":["i","8"],"status":["t","duplicate"]},"before":{"email":["t","di@example.com"],"id":["i","7"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 7"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","7"]]],"table":"customers"}}],"dataset":"customers","finding":"F-9T063D","ignore_drift":[],"keeper":"[[\"n\",\"8\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"c83e3fc4dbfbddeac8af206e9f3054c7eb2d4ea1f2837b0998cbeb9501ac86b6","generation":1,"record":"[[\"n\",\"7\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"5b9d81b40608ebe0dba10dca237ea07c","source":"shop","table":"customers","target":"sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T23:12:31.486083Z','2026-12-08T23:12:31.486083Z',0,NULL,'2026-12-01T23:12:31.486083Z',0,'2026-12-01T23:12:31.486083Z',NULL,NULL,NULL,NULL);
INSERT INTO "plans" VALUES('P-ZODHPO7NQM3F','F-9EP338','twins','customers','shop','sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','undo',NULL,'e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','571c2b54e145361f5a32fccb254ab85f4d1cd3ba538919f3a0e5b94c4000ea0e','P-J3542NPM3SBH','succeeded',NULL,'{"action":"undo","binding":"","catalogue":"","changes":[{"after":{"merged_into":null,"status":["t","new"]},"before":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":["i","1"],"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","duplicate"]},"role":"surplus","row":{"key":[["id",["i","2"]]],"table":"customers"}}],"dataset":"customers","finding":"F-9EP338","ignore_drift":[],"keeper":"[[\"n\",\"1\"]]","money":{},"operations":[{"effect":"set:merged_into,status.undo","fingerprint":"1c74a5a560872906118057da6b52fb3f8ae189444c312b73d76e57dc567642dd","generation":1,"record":"[[\"n\",\"2\"]]"}],"origins":{},"references":[],"reversible":"no","rule":"twins","salt":"c5ed8f0d8c6360219e342f3631ef164f","source":"shop","table":"customers","target":"sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db","triggers":[],"undoes":"P-J3542NPM3SBH","why":["an undo cannot be undone; reopen the finding and clean it again"]}','[{"after":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":null,"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","new"]}}]','{"effects":["set:merged_into,status.undo"],"table":"customers"}',1,1,'{}','no','none','root','2026-12-01T23:12:32.934327Z',NULL,1,NULL,'2026-12-01T23:13:33.031993Z',1,'2026-12-01T23:12:32.934327Z',NULL,NULL,'2026-12-01T23:12:33.031993Z','2026-12-01T23:12:33.061794Z');
CREATE TABLE presses (
	id TEXT NOT NULL, 
	channel TEXT NOT NULL, 
	press TEXT NOT NULL, 
	signature TEXT, 
	received_at TEXT NOT NULL, 
	status TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	next_at TEXT NOT NULL, 
	fence BIGINT NOT NULL, 
	owner TEXT, 
	lease_until TEXT NOT NULL, 
	answer TEXT, 
	CONSTRAINT pk_presses PRIMARY KEY (id)
);
CREATE TABLE promotion (
	id INTEGER NOT NULL, 
	release TEXT NOT NULL, 
	held BOOLEAN NOT NULL, 
	since TEXT NOT NULL, 
	"by" TEXT NOT NULL, 
	note TEXT, 
	CONSTRAINT pk_promotion PRIMARY KEY (id), 
	CONSTRAINT ck_promotion_one_row CHECK (id = 1), 
	CONSTRAINT fk_promotion_release FOREIGN KEY(release) REFERENCES releases (hash)
);
CREATE TABLE record_ids (
	dataset TEXT NOT NULL, 
	columns TEXT NOT NULL, 
	types TEXT NOT NULL, 
	at TEXT NOT NULL, 
	CONSTRAINT pk_record_ids PRIMARY KEY (dataset)
);
INSERT INTO "record_ids" VALUES('customers','["id"]','["integer"]','2026-12-01T23:12:27.558559Z');
INSERT INTO "record_ids" VALUES('charges','["id"]','["text"]','2026-12-01T23:12:29.497109Z');
INSERT INTO "record_ids" VALUES('orders','["id"]','["text"]','2026-12-01T23:12:29.497109Z');
CREATE TABLE releases (
	hash TEXT NOT NULL, 
	config TEXT NOT NULL, 
	first_seen TEXT NOT NULL, 
	files TEXT, 
	CONSTRAINT pk_releases PRIMARY KEY (hash)
);
INSERT INTO "releases" VALUES('e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','{"channels":{"team":{"path":"messages.jsonl","type":"file"}},"datasets":{"charges":{"id":"id","money":{"amount":"amount","currency":"EUR"},"source":"shop","table":"charges"},"customers":{"id":"id","source":"shop","table":"customers"},"orders":{"id":"id","money":{"amount":"total","currency":"EUR"},"source":"shop","table":"orders"}},"guard":{"welcome":{}},"jobs":{"nightly":{"notify":["team"],"rules":"all"}},"rules":{"negative":{"dataset":"charges","kind":"check","where":"amount < 0"},"paid":{"compare":[{"left":"total","right":"amount"}],"key":[{"left":"id","right":"order_id"}],"kind":"reconciliation","left":"orders","right":"charges"},"persons":{"dataset":"customers","key":{"any":[["phone"],["name"]]},"kind":"duplicates","max_share":"100%"},"twins":{"clean":{"action":"set","values":{"merged_into":"{{ keeper.id }}","status":"duplicate"}},"dataset":"customers","keep":[{"first":"id"}],"key":[{"email":["trim","lower"]}],"kind":"duplicates","limits":{"records":"100","share":"100%"},"where":"status <> ''duplicate''"}},"sources":{"shop":{"type":"sql","url":"sqlite:///shop.db"}},"state":"sqlite:///state.db","version":"1"}','2026-12-01T23:12:26.651853Z','[["reconcile.yaml","version: 1\nstate: sqlite:///state.db\nsources:\n  shop:\n    type: sql\n    url: sqlite:///shop.db\ndatasets:\n  customers:\n    source: shop\n    table: customers\n    id: id\n  orders:\n    source: shop\n    table: orders\n    id: id\n    money:\n      amount: total\n      currency: EUR\n  charges:\n    source: shop\n    table: charges\n    id: id\n    money:\n      amount: amount\n      currency: EUR\nrules:\n  twins:\n    kind: duplicates\n    dataset: customers\n    key:\n      - email:\n          - trim\n          - lower\n    where: status <> ''duplicate''\n    keep:\n      - first: id\n    clean:\n      action: set\n      values:\n        status: duplicate\n        merged_into: \"{{ keeper.id }}\"\n    limits:\n      records: 100\n      share: 100%\n  persons:\n    kind: duplicates\n    dataset: customers\n    key:\n      any:\n        - - phone\n        - - name\n    max_share: 100%\n  paid:\n    kind: reconciliation\n    left: orders\n    right: charges\n    key:\n      - left: id\n        right: order_id\n    compare:\n      - left: total\n        right: amount\n  negative:\n    kind: check\n    dataset: charges\n    where: amount < 0\nchannels:\n  team:\n    type: file\n    path: messages.jsonl\njobs:\n  nightly:\n    rules: all\n    notify:\n      - team\nguard:\n  welcome: {}\n"]]');
CREATE TABLE remembered (
	rule TEXT NOT NULL, 
	name TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	dataset TEXT NOT NULL, 
	content BLOB NOT NULL, 
	CONSTRAINT pk_remembered PRIMARY KEY (rule, name, number)
);
CREATE TABLE rule_state (
	rule TEXT NOT NULL, 
	definition TEXT NOT NULL, 
	first_run TEXT NOT NULL, 
	first_run_at TEXT NOT NULL, 
	last_run TEXT NOT NULL, 
	last_run_at TEXT NOT NULL, 
	renamed_from TEXT, 
	cleaning TEXT, 
	CONSTRAINT pk_rule_state PRIMARY KEY (rule), 
	CONSTRAINT fk_rule_state_first_run FOREIGN KEY(first_run) REFERENCES runs (id), 
	CONSTRAINT fk_rule_state_last_run FOREIGN KEY(last_run) REFERENCES runs (id)
);
INSERT INTO "rule_state" VALUES('twins','ba93d1775e063ab3c4bc4a413cc33aa72a6da7aab57eecbfb47647751ad3b112','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:27.576146Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:34.676351Z',NULL,'b541bec2d14602a0237829e3d45e3735476c6c4a07a8f13921491aed9cafe1d4');
INSERT INTO "rule_state" VALUES('persons','6697642266c1d209d134050e2dadb193f1f833d07b57586db5fa61b233f7f150','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:28.584472Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:34.874970Z',NULL,NULL);
INSERT INTO "rule_state" VALUES('paid','e010e09295850fb3a848b5a34c9e6cbdc595377a1e8f59793400c4e67934fd2b','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:29.502809Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:35.462322Z',NULL,NULL);
INSERT INTO "rule_state" VALUES('negative','d187f92eafe0ac7cbd360ecd7e021c40e3a128d982fc360e28207b4a51d8fa2b','run1_lxtep2nxci3fanowrsflbvxgt4','2026-12-01T23:12:29.653406Z','run1_wfbv5xjpi2fkkthoeyojs32s6e','2026-12-01T23:12:35.698580Z',NULL,NULL);
CREATE TABLE run_rules (
	run TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	status TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	finished TEXT NOT NULL, 
	CONSTRAINT pk_run_rules PRIMARY KEY (run, rule), 
	CONSTRAINT fk_run_rules_run FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "run_rules" VALUES('run1_lxtep2nxci3fanowrsflbvxgt4','twins','done','{"cleaning":{"binding":"b541bec2d14602a0237829e3d45e3735476c6c4a07a8f13921491aed9cafe1d4","cleaned":0,"failed":0,"proposed":4,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":8,"seconds":0.838,"severity":"medium","skipped":[]}','2026-12-01T23:12:30.403419Z');
INSERT INTO "run_rules" VALUES('run1_lxtep2nxci3fanowrsflbvxgt4','persons','done','{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.857,"severity":"medium","skipped":[]}','2026-12-01T23:12:28.584472Z');
INSERT INTO "run_rules" VALUES('run1_lxtep2nxci3fanowrsflbvxgt4','paid','done','{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-4.00"},"currency":"EUR","explained":"24.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"35.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"left_only":1,"mismatch":1,"right_only":2},"groups":4,"groups_before":[],"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"matched":2,"money":{"EUR":"41.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.845,"severity":"medium","skipped":[]}','2026-12-01T23:12:29.502809Z');
INSERT INTO "run_rules" VALUES('run1_lxtep2nxci3fanowrsflbvxgt4','negative','done','{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":1,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"condition":1},"groups":1,"groups_before":[],"in_words":["1 failing record"],"money":{"EUR":"3.00"},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.123,"severity":"medium","skipped":[]}','2026-12-01T23:12:29.653406Z');
INSERT INTO "run_rules" VALUES('run1_wfbv5xjpi2fkkthoeyojs32s6e','twins','done','{"cleaning":{"binding":"b541bec2d14602a0237829e3d45e3735476c6c4a07a8f13921491aed9cafe1d4","cleaned":0,"failed":0,"proposed":0,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":1,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":2},"first_run":false,"groups":3,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":7,"seconds":0.459,"severity":"medium","skipped":[]}','2026-12-01T23:12:36.421449Z');
INSERT INTO "run_rules" VALUES('run1_wfbv5xjpi2fkkthoeyojs32s6e','persons','done','{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":4,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":0},"first_run":false,"groups":4,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.067,"severity":"medium","skipped":[]}','2026-12-01T23:12:34.874970Z');
INSERT INTO "run_rules" VALUES('run1_wfbv5xjpi2fkkthoeyojs32s6e','paid','done','{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-106.00"},"currency":"EUR","explained":"-77.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"137.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":2,"merged":0,"new":1,"reopened":0,"resolved":1,"settled":1},"first_run":false,"forms":{"mismatch":1,"right_only":2},"groups":4,"groups_before":[4],"in_words":["2 missing in orders","1 mismatch"],"matched":2,"money":{"EUR":"107.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.543,"severity":"medium","skipped":[]}','2026-12-01T23:12:35.462322Z');
INSERT INTO "run_rules" VALUES('run1_wfbv5xjpi2fkkthoeyojs32s6e','negative','done','{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":0,"reopened":0,"resolved":1,"settled":0},"first_run":false,"groups":0,"groups_before":[1],"money":{},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.147,"severity":"medium","skipped":[]}','2026-12-01T23:12:35.698580Z');
CREATE TABLE runs (
	id TEXT NOT NULL, 
	job TEXT NOT NULL, 
	slot TEXT NOT NULL, 
	release TEXT NOT NULL, 
	"trigger" TEXT NOT NULL, 
	status TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	fence BIGINT NOT NULL, 
	started TEXT NOT NULL, 
	finished TEXT, 
	summary TEXT, 
	CONSTRAINT pk_runs PRIMARY KEY (id), 
	CONSTRAINT uq_runs_job_slot UNIQUE (job, slot), 
	CONSTRAINT fk_runs_release FOREIGN KEY(release) REFERENCES releases (hash)
);
INSERT INTO "runs" VALUES('run1_lxtep2nxci3fanowrsflbvxgt4','nightly','2026-12-01T23:12:22.980005Z','e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','manual','succeeded',1,1,'2026-12-01T23:12:26.651853Z','2026-12-01T23:12:30.406182Z','{"attempt":1,"checked":["twins","persons","paid","negative"],"job":"nightly","messages":["msg1_9efc6445feedaf326abc4ceb"],"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rules":[{"cleaning":{"binding":"b541bec2d14602a0237829e3d45e3735476c6c4a07a8f13921491aed9cafe1d4","cleaned":0,"failed":0,"proposed":4,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":8,"seconds":0.838,"severity":"medium","skipped":[]},{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.857,"severity":"medium","skipped":[]},{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-4.00"},"currency":"EUR","explained":"24.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"35.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"left_only":1,"mismatch":1,"right_only":2},"groups":4,"groups_before":[],"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"matched":2,"money":{"EUR":"41.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.845,"severity":"medium","skipped":[]},{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":1,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"condition":1},"groups":1,"groups_before":[],"in_words":["1 failing record"],"money":{"EUR":"3.00"},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.123,"severity":"medium","skipped":[]}],"run":"run1_lxtep2nxci3fanowrsflbvxgt4","slot":"2026-12-01T23:12:22.980005Z","status":"succeeded"}');
INSERT INTO "runs" VALUES('run1_wfbv5xjpi2fkkthoeyojs32s6e','nightly','2026-12-01T23:12:34.138541Z','e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','manual','succeeded',1,2,'2026-12-01T23:12:34.171652Z','2026-12-01T23:12:36.423477Z','{"attempt":1,"checked":["twins","persons","paid","negative"],"job":"nightly","messages":["msg1_8b3a6aa7350985e0d326de4c"],"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rules":[{"cleaning":{"binding":"b541bec2d14602a0237829e3d45e3735476c6c4a07a8f13921491aed9cafe1d4","cleaned":0,"failed":0,"proposed":0,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":1,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":2},"first_run":false,"groups":3,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":7,"seconds":0.459,"severity":"medium","skipped":[]},{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":4,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":0},"first_run":false,"groups":4,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.067,"severity":"medium","skipped":[]},{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-106.00"},"currency":"EUR","explained":"-77.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"137.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":2,"merged":0,"new":1,"reopened":0,"resolved":1,"settled":1},"first_run":false,"forms":{"mismatch":1,"right_only":2},"groups":4,"groups_before":[4],"in_words":["2 missing in orders","1 mismatch"],"matched":2,"money":{"EUR":"107.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.543,"severity":"medium","skipped":[]},{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":0,"reopened":0,"resolved":1,"settled":0},"first_run":false,"groups":0,"groups_before":[1],"money":{},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.147,"severity":"medium","skipped":[]}],"run":"run1_wfbv5xjpi2fkkthoeyojs32s6e","slot":"2026-12-01T23:12:34.138541Z","status":"succeeded"}');
CREATE TABLE schedules (
	job TEXT NOT NULL, 
	revision TEXT NOT NULL, 
	since TEXT NOT NULL, 
	watermark TEXT NOT NULL, 
	CONSTRAINT pk_schedules PRIMARY KEY (job)
);
CREATE TABLE sessions (
	id TEXT NOT NULL, 
	user TEXT NOT NULL, 
	started_at TEXT NOT NULL, 
	seen_at TEXT NOT NULL, 
	ends_at TEXT NOT NULL, 
	seal TEXT, 
	CONSTRAINT pk_sessions PRIMARY KEY (id), 
	CONSTRAINT fk_sessions_user FOREIGN KEY(user) REFERENCES users (name)
);
CREATE TABLE shown_findings (
	message TEXT NOT NULL, 
	finding TEXT NOT NULL, 
	CONSTRAINT pk_shown_findings PRIMARY KEY (message, finding), 
	CONSTRAINT fk_shown_findings_message FOREIGN KEY(message) REFERENCES outbox (message), 
	CONSTRAINT fk_shown_findings_finding FOREIGN KEY(finding) REFERENCES findings (id)
);
CREATE TABLE slots (
	job TEXT NOT NULL, 
	slot TEXT NOT NULL, 
	cause TEXT NOT NULL, 
	tzdata TEXT, 
	status TEXT NOT NULL, 
	reason TEXT, 
	priority INTEGER NOT NULL, 
	start_at TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	sources TEXT NOT NULL, 
	owner TEXT, 
	fence BIGINT NOT NULL, 
	lease_until TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	ended_at TEXT, 
	CONSTRAINT pk_slots PRIMARY KEY (job, slot), 
	CONSTRAINT uq_slots_job_cause UNIQUE (job, cause)
);
CREATE TABLE targets (
	identity TEXT NOT NULL, 
	source TEXT NOT NULL, 
	ratchet BIGINT NOT NULL, 
	confirmed BIGINT NOT NULL, 
	first_seen TEXT NOT NULL, 
	moved_at TEXT NOT NULL, 
	CONSTRAINT pk_targets PRIMARY KEY (identity)
);
INSERT INTO "targets" VALUES('sqlite:27:89691:/dev/shm/tmp5yac9fvp/shop.db','shop',3,3,'2026-12-01T23:12:31.774719Z','2026-12-01T23:12:33.006338Z');
CREATE TABLE tokens (
	name TEXT NOT NULL, 
	id TEXT NOT NULL, 
	user TEXT NOT NULL, 
	role TEXT NOT NULL, 
	created_at TEXT NOT NULL, 
	expires_at TEXT, 
	used_at TEXT, 
	CONSTRAINT pk_tokens PRIMARY KEY (name), 
	CONSTRAINT uq_tokens_id UNIQUE (id), 
	CONSTRAINT fk_tokens_user FOREIGN KEY(user) REFERENCES users (name)
);
CREATE TABLE troubles (
	subject TEXT NOT NULL, 
	job TEXT, 
	sentence TEXT NOT NULL, 
	since TEXT NOT NULL, 
	channels TEXT NOT NULL, 
	CONSTRAINT pk_troubles PRIMARY KEY (subject)
);
CREATE TABLE uncertain_pairs (
	pair TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	dataset TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	record_a TEXT NOT NULL, 
	record_b TEXT NOT NULL, 
	values_a TEXT NOT NULL, 
	values_b TEXT NOT NULL, 
	probability TEXT NOT NULL, 
	evidence TEXT NOT NULL, 
	found_at TEXT NOT NULL, 
	CONSTRAINT pk_uncertain_pairs PRIMARY KEY (pair)
);
CREATE TABLE unchanged_runs (
	job TEXT NOT NULL, 
	day TEXT NOT NULL, 
	release TEXT NOT NULL, 
	runs INTEGER NOT NULL, 
	slots TEXT NOT NULL, 
	first_slot TEXT NOT NULL, 
	last_slot TEXT NOT NULL, 
	started TEXT NOT NULL, 
	finished TEXT NOT NULL, 
	summary TEXT NOT NULL, 
	CONSTRAINT pk_unchanged_runs PRIMARY KEY (job, day, release), 
	CONSTRAINT fk_unchanged_runs_release FOREIGN KEY(release) REFERENCES releases (hash)
);
CREATE TABLE users (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	password TEXT, 
	sees_personal BOOLEAN NOT NULL, 
	disabled_at TEXT, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_users PRIMARY KEY (name)
);
INSERT INTO "users" VALUES('ada','operator','$argon2id$v=19$m=65536,t=3,p=4$kW7CHTNBsco7B+JEQbXtcg$PTDwXkhqoySEDHRrePhzC+cIzsKSA0vks3GILjtEqZA',0,NULL,'2026-12-01T23:12:33.554466Z');
CREATE TABLE watches (
	job TEXT NOT NULL, 
	dataset TEXT NOT NULL, 
	digest TEXT, 
	seen_at TEXT NOT NULL, 
	pending TEXT, 
	pending_since TEXT, 
	CONSTRAINT pk_watches PRIMARY KEY (job, dataset)
);
CREATE TABLE watermarks (
	rule TEXT NOT NULL, 
	version TEXT NOT NULL, 
	mark TEXT NOT NULL, 
	run TEXT NOT NULL, 
	full_slot TEXT NOT NULL, 
	increments INTEGER NOT NULL, 
	missed INTEGER NOT NULL, 
	CONSTRAINT pk_watermarks PRIMARY KEY (rule)
);
CREATE INDEX ix_slots_status_start_at ON slots (status, start_at);
CREATE INDEX ix_slots_job_status_slot ON slots (job, status, slot);
CREATE INDEX ix_remembered_dataset ON remembered (dataset);
CREATE INDEX ix_uncertain_pairs_rule ON uncertain_pairs (rule);
CREATE INDEX ix_presses_received_at ON presses (received_at);
CREATE INDEX ix_presses_status_next_at ON presses (status, next_at);
CREATE INDEX ix_keyed_requests_received_at ON keyed_requests (received_at);
CREATE INDEX ix_guarded_keys_state_keep_until_key ON guarded_keys (state, keep_until, "key");
CREATE INDEX ix_audit_subject ON audit (subject);
CREATE INDEX ix_attempts_since ON attempts (since);
CREATE INDEX ix_runs_job_started ON runs (job, started);
CREATE INDEX ix_runs_started ON runs (started);
CREATE INDEX ix_runs_job_status_fence ON runs (job, status, fence);
CREATE INDEX ix_audit_bodies_run ON audit_bodies (run);
CREATE INDEX ix_audit_bodies_finding ON audit_bodies (finding);
CREATE INDEX ix_tokens_user ON tokens (user);
CREATE INDEX ix_sessions_ends_at ON sessions (ends_at);
CREATE INDEX ix_sessions_user ON sessions (user);
CREATE INDEX ix_dataset_stats_dataset_rule_at ON dataset_stats (dataset, rule, at);
CREATE INDEX ix_findings_fingerprint ON findings (fingerprint);
CREATE INDEX ix_findings_state_severity_amount_rank_first_seen_id ON findings (state, severity, amount_rank, first_seen, id);
CREATE INDEX ix_findings_state_probability_first_seen_id ON findings (state, probability, first_seen, id) WHERE probability IS NOT NULL;
CREATE INDEX ix_findings_rule_state_severity_amount_rank_first_seen_id ON findings (rule, state, severity, amount_rank, first_seen, id);
CREATE INDEX ix_findings_assigned_to ON findings (assigned_to);
CREATE INDEX ix_anchors_status_next_at ON anchors (status, next_at);
CREATE INDEX ix_outbox_run ON outbox (run);
CREATE INDEX ix_outbox_status_next_at ON outbox (status, next_at);
CREATE INDEX ix_finding_aliases_finding ON finding_aliases (finding);
CREATE INDEX ix_finding_members_record ON finding_members (record);
CREATE INDEX ix_not_same_rule_record_b ON not_same (rule, record_b);
CREATE INDEX ix_not_same_finding ON not_same (finding);
CREATE INDEX ix_plans_undoes ON plans (undoes);
CREATE INDEX ix_plans_rule_state ON plans (rule, state);
CREATE INDEX ix_plans_state_source_next_at_id ON plans (state, source, next_at, id);
CREATE INDEX ix_plans_finding ON plans (finding);
CREATE INDEX ix_plans_run ON plans (run);
CREATE INDEX ix_shown_findings_finding ON shown_findings (finding);
CREATE INDEX ix_effects_ended_at ON effects (ended_at);
CREATE INDEX ix_effects_plan ON effects ("plan");
CREATE INDEX ix_effects_record_target_effect ON effects (record, target, effect);
CREATE INDEX ix_holds_plan ON holds ("plan");
CREATE INDEX ix_approvals_plan_hash ON approvals (plan_hash);
CREATE INDEX ix_limit_uses_run_rule ON limit_uses (run, rule);
CREATE INDEX ix_limit_uses_target_at ON limit_uses (target, at);
CREATE INDEX ix_limit_uses_rule_at ON limit_uses (rule, at);
COMMIT;
