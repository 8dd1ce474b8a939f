PRAGMA application_id = 1380142668;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0022');
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
INSERT INTO "approvals" VALUES('P-FVGCRFW4DQPI','root','approved','710a3572c0a9bb529f026618d4d0024f4fa3c59063f6ca86f21f5e5fd971255c','2026-12-01T11:07:02.563714Z',NULL);
INSERT INTO "approvals" VALUES('P-NB43Q6OFVKCW','root','approved','2b11d2602cb2122a08e124b9d66d43659ca47d12e828d34dc489a4f63c4a6c49','2026-12-01T11:07:05.133421Z',NULL);
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
INSERT INTO "audit" VALUES(1,'2026-12-01T11:06:42.222840Z','reconcile','finding.opened','82ba110b73b2a5768ad5fd23cf9bbecbc0f76a28070a77b74e2dcba9a1d3343b','320904998f7496f120e5f1e0286900b6c8d465b69d95ef40358aea0471623123','eeb95a464ed392a5f67e5633c78a18aa2642cfa4411974babea8042307f48b45','4d7bd886354d56b90f9598e5263f37dbc1e2eda0fe4c9c0d7aac1a4df4f1baa4');
INSERT INTO "audit" VALUES(2,'2026-12-01T11:06:42.222840Z','reconcile','finding.opened','da00a249da0c6558ce722a576e4361fa75b55ab30093ed268b0dd8af4ce5b2f5','6af09617731a18b70f4ff8760c622cce11cd97f0a4159fadbe68f1a7baf043b9','4d7bd886354d56b90f9598e5263f37dbc1e2eda0fe4c9c0d7aac1a4df4f1baa4','68954ab63c3fa0f1c8bf8f5211a4f4710d7d25d1218bd0f6f82644e36f261b64');
INSERT INTO "audit" VALUES(3,'2026-12-01T11:06:42.222840Z','reconcile','finding.opened','d407c838354eb5a23c57f95c1ea53f78d8eb0de97e859d9a4efb086e64443126','f9d3bf047ceaad0cc0d7b5a1b0f19b568126a904c4ef1977a6b91066490ecf80','68954ab63c3fa0f1c8bf8f5211a4f4710d7d25d1218bd0f6f82644e36f261b64','f7b70700705204bd961df60df9226a0e588b874c37a073de481aef3ffa366781');
INSERT INTO "audit" VALUES(4,'2026-12-01T11:06:42.222840Z','reconcile','finding.opened','cd5a08b0c0bd242cb618ad89ced1bd45eb0338918f3b359f75aa7e332bb5eb4c','a8d16b3627576c79cc522d347ef16fc053f6fbce2c0bf51f5c6ff764dee97875','f7b70700705204bd961df60df9226a0e588b874c37a073de481aef3ffa366781','db0ca0c4b7ed0ab898f20682f162d4fa983e396be37ef123b80a72bac6f26a2c');
INSERT INTO "audit" VALUES(5,'2026-12-01T11:06:45.252046Z','reconcile','finding.opened','fc2d167b05e94071df6abfbd74b1d5ed6ef3023efdca2a61561bd538eb2aa760','66766baf6834cf601043900be1c571db0552ebb3e93d7ecf5e40e7e4e9b34d32','db0ca0c4b7ed0ab898f20682f162d4fa983e396be37ef123b80a72bac6f26a2c','ca78a9e2bfb0198ac29bd550d2dc658576903df16c0607cb27e15a848078295b');
INSERT INTO "audit" VALUES(6,'2026-12-01T11:06:45.252046Z','reconcile','finding.opened','8277d98f0c64c0068d1ca269c568549a2afcb84af4565afdf5fc3e27c6f404cb','8ab730469901faf838962714ea7092e042f4c9453a0aad09c67f70a91312c215','ca78a9e2bfb0198ac29bd550d2dc658576903df16c0607cb27e15a848078295b','461d38c095221c3b554ce018110d155078c43cae2b3520adbd96233443beb39a');
INSERT INTO "audit" VALUES(7,'2026-12-01T11:06:45.252046Z','reconcile','finding.opened','64024faa941f8a50033969ff67cfca18a1ba95ebff7791910b6091ebd87fa258','134fd88f897468e1fb631b2c590ce9bc725ddcaa277d8472c47a35c93993be7b','461d38c095221c3b554ce018110d155078c43cae2b3520adbd96233443beb39a','ec0ad40c29b73ba4bcc49ecf19fc428125b631d62549b4d038136c8afdcd98d1');
INSERT INTO "audit" VALUES(8,'2026-12-01T11:06:45.252046Z','reconcile','finding.opened','73f7fc1ff280a6e6eca40a3210087bba9617e7fbf66fb5610c0f427d05aba16d','8ad2cc74e1f369c6bbea4a5a129155c07e4c3cb5d43145d3d7b1622583fee6b2','ec0ad40c29b73ba4bcc49ecf19fc428125b631d62549b4d038136c8afdcd98d1','314113778ab34b299fb4db4a67f930444b8941ba7a29b1d03b59da6bb7e2fb0c');
INSERT INTO "audit" VALUES(9,'2026-12-01T11:06:50.053729Z','reconcile','finding.opened','8ea344fb88ceda302eb4168df9e12ed3f321f48655449ee9757c0c4cd8f47010','ed209346ddfc28e9e63ab7f85d981e153efc5ecc151fef0f7876bf64fce3e1e0','314113778ab34b299fb4db4a67f930444b8941ba7a29b1d03b59da6bb7e2fb0c','a0f08892e78bccd69c514fcb29934523f7b694c78b883513527e10b7e0d001c2');
INSERT INTO "audit" VALUES(10,'2026-12-01T11:06:50.053729Z','reconcile','finding.opened','3d28e34c3ad12e0c6f8d5f37636d3091376d47e73e7963b096f9a6fd126694a3','fd9eb9a80a88e51d0a31ccbb20f8e9d5bae23209854558eb86d5f5ce8e46a363','a0f08892e78bccd69c514fcb29934523f7b694c78b883513527e10b7e0d001c2','d1d41e2bf503101cd9b0428dd1eccc0e79ad4751a78291ae1b109d23d5f15ffd');
INSERT INTO "audit" VALUES(11,'2026-12-01T11:06:50.053729Z','reconcile','finding.opened','9ee5bfab78427e423ede01483c19134205b3dce91337dd399513ba934b675c08','141641217b0c756fe20b6da078e4d14956020ab674dcf8729366e840413a7782','d1d41e2bf503101cd9b0428dd1eccc0e79ad4751a78291ae1b109d23d5f15ffd','937bfbf4504664489e36d741632d078341af4e3d48e0ec9bea81ff7d001875b7');
INSERT INTO "audit" VALUES(12,'2026-12-01T11:06:50.053729Z','reconcile','finding.opened','399c63dec6dae574faaeb9cf9bfb2f907b9219aa53aabf4c7861d770dee74965','78f7ee907e36f32528c6a54d65fa7d3bd81d988ee80bf91d07c62a19528d5388','937bfbf4504664489e36d741632d078341af4e3d48e0ec9bea81ff7d001875b7','b5763b9496abdd3158e652cd40bbeeaa9056571abb82583d09207669b88fd3f0');
INSERT INTO "audit" VALUES(13,'2026-12-01T11:06:50.757856Z','reconcile','finding.opened','98f2a4fa59e305334517391531f06c2915ae9db55fd66521fa503ef7bf2ccf42','7a2181af08238f7a175de3358708aecf1eca5cf26180636dbfcb02c5e4a5cd16','b5763b9496abdd3158e652cd40bbeeaa9056571abb82583d09207669b88fd3f0','a47c4a416e1e261b5879a0a7ee7350cf31a56e328240872fa8ae60c1124513b4');
INSERT INTO "audit" VALUES(14,'2026-12-01T11:06:54.242041Z','reconcile','plan.proposed','c1c42efd114538eb27438c96945c651fbfed5c5920e2e0cac48c2501eba14a11','35622658cdea64902d09f2979e8871ca16539cac803c65b3b2ebef87f55f4b3f','a47c4a416e1e261b5879a0a7ee7350cf31a56e328240872fa8ae60c1124513b4','c6aa997f18ce7335ae9288df3e6d3f0a5ce6acff6aaae11d7c4b16a2bdfa695e');
INSERT INTO "audit" VALUES(15,'2026-12-01T11:06:54.242041Z','reconcile','plan.proposed','81eee6f9814fda2424db9f44ecb7de795730fdf9e1c11fd8ccee943a1e7ce3f7','f295d156f478da0034d04904f047b0bfe85a4a1338720b7dbedd2e264215b6a4','c6aa997f18ce7335ae9288df3e6d3f0a5ce6acff6aaae11d7c4b16a2bdfa695e','07903b340df4c62b909b672844575debb2cc17fcf8f57f9cca96911eb6a0201b');
INSERT INTO "audit" VALUES(16,'2026-12-01T11:06:54.242041Z','reconcile','plan.proposed','16f926f0c8c3f73d26e3af9ef2ce322a7070a949707c701f5cf8e870e449730f','48c3e02de9fa1e20f3305e5ce7ee327b8858d445127402bbd4d71c8fcf1711ab','07903b340df4c62b909b672844575debb2cc17fcf8f57f9cca96911eb6a0201b','86f86a75826efc50d8f7d0961f3e6784269730c4817a5fba580c852e5d8543d1');
INSERT INTO "audit" VALUES(17,'2026-12-01T11:06:54.242041Z','reconcile','plan.proposed','c520c588c2d9910395dcddbe912cc7de7333b6235d79296819d26e23e88b5208','0a1883ec4c5f36dfe5dca22061bfaee006af8698123448f1904b844ad430ec23','86f86a75826efc50d8f7d0961f3e6784269730c4817a5fba580c852e5d8543d1','d93804e5d48ab009228c8823dc7436024294cd451bfe5d7c7c17c1e7207f298c');
INSERT INTO "audit" VALUES(18,'2026-12-01T11:06:54.942424Z','reconcile','message.queued','d906fd2b9e7aa7638dac4fc403530ed43eded18fb5f528ef194318facc96ae7a','e0b1d126e5998aba611e550306aaf898537e3b4ed15cc0446dc52304bdc4670a','d93804e5d48ab009228c8823dc7436024294cd451bfe5d7c7c17c1e7207f298c','9ff5332d9b6afe198e73461246ccc91f457359ae3d440abf0c2d7ca74eabc090');
INSERT INTO "audit" VALUES(19,'2026-12-01T11:06:54.942424Z','reconcile','run.finished','4d4426f8bfcf41c96797f6bd5b17517ae3037cf93df7c4ca17d6902899552535','b3a99234a11439a59c0083704702edbc9f2419f1d584874e15d62534bfcc5775','9ff5332d9b6afe198e73461246ccc91f457359ae3d440abf0c2d7ca74eabc090','dc5c387f225936ae8d932d7aacf40d80cc1125345980574e079593fdfe3deb87');
INSERT INTO "audit" VALUES(20,'2026-12-01T11:06:55.613063Z','reconcile','message.sending','d906fd2b9e7aa7638dac4fc403530ed43eded18fb5f528ef194318facc96ae7a','4db71f759b4f11a44b4c414a7c73fd1c93da9aa3fb0fbe80522945735a6e423c','dc5c387f225936ae8d932d7aacf40d80cc1125345980574e079593fdfe3deb87','876a61e655f14bd844735907b60195d302241971d2e48ae296560b1d60accab4');
INSERT INTO "audit" VALUES(21,'2026-12-01T11:06:55.746745Z','reconcile','message.sent','d906fd2b9e7aa7638dac4fc403530ed43eded18fb5f528ef194318facc96ae7a','21f4d309caf6cde756594e0c902b3bbea9dddd0a6a3143fea7cb93077480ff1a','876a61e655f14bd844735907b60195d302241971d2e48ae296560b1d60accab4','39f438300140173930062565794322d598b66efea05878a16cf7948c4b190aaa');
INSERT INTO "audit" VALUES(22,'2026-12-01T11:07:01.144234Z','root','finding.keeper_chosen','82ba110b73b2a5768ad5fd23cf9bbecbc0f76a28070a77b74e2dcba9a1d3343b','fd10e3b3bb17fa2185ab4e02428c27c4c5bab6d532635694ae71140dafe1a414','39f438300140173930062565794322d598b66efea05878a16cf7948c4b190aaa','c9410b30e9813894a6851f25727ce08401ad0d879b8006f23c7ef631026b9be0');
INSERT INTO "audit" VALUES(23,'2026-12-01T11:07:01.144234Z','root','plan.skipped','c1c42efd114538eb27438c96945c651fbfed5c5920e2e0cac48c2501eba14a11','e4aa578c39a002f41d55305d18415076a3e6e98af4c2d5186b0f2d678f6ccc4d','c9410b30e9813894a6851f25727ce08401ad0d879b8006f23c7ef631026b9be0','cf0e4e33b316f1e9d65c1d3d6ce88ffe1fc2854347eb29b57ac3385581094e83');
INSERT INTO "audit" VALUES(24,'2026-12-01T11:07:01.144234Z','reconcile','plan.proposed','c78ce5f0d99e8f0932b62ff2f530c0fc41c8f6444993e0ef05d04d7f12ee5d4b','4841ac42f8d325ede25db18f2d09582895e363689f717da5e31627bc70f045b4','cf0e4e33b316f1e9d65c1d3d6ce88ffe1fc2854347eb29b57ac3385581094e83','de82035e684962b4ca4fe27839c3426a924b7464b73050a21edbd839c0d440ae');
INSERT INTO "audit" VALUES(25,'2026-12-01T11:07:02.563714Z','root','approval.approved','c520c588c2d9910395dcddbe912cc7de7333b6235d79296819d26e23e88b5208','f95ee859040f196ee0dde11cf71f96633db7134516d5f1d33186e299bdcc4250','de82035e684962b4ca4fe27839c3426a924b7464b73050a21edbd839c0d440ae','22d302194297e94719b7d0770056bc6178310a3ec25b3aeba401a8648ff33da0');
INSERT INTO "audit" VALUES(26,'2026-12-01T11:07:02.563714Z','root','plan.approved','c520c588c2d9910395dcddbe912cc7de7333b6235d79296819d26e23e88b5208','b23e638bf6518d7a3e869340df58e181d277dae222bdc8585849fa385747a637','22d302194297e94719b7d0770056bc6178310a3ec25b3aeba401a8648ff33da0','6ee86227e0171a6c457b97325e3db41ddc3ccff32045e67c139a24d993b6e765');
INSERT INTO "audit" VALUES(27,'2026-12-01T11:07:03.437663Z','reconcile','target.first_seen','031ad4a2f243a2101de3eef9cc99a36d3a18948315725abe524da585aa2c4acc','3cf168405ebc8e44d6d36a745ad6bf7748ded9e1a529efaa1e73922b8b795d59','6ee86227e0171a6c457b97325e3db41ddc3ccff32045e67c139a24d993b6e765','f36ee5ad0b08e9c7f9748d020fec0f27aef44e27f0183976d1058464edc8577a');
INSERT INTO "audit" VALUES(28,'2026-12-01T11:07:04.708232Z','reconcile','operation.sent','c520c588c2d9910395dcddbe912cc7de7333b6235d79296819d26e23e88b5208','07b1000d0cc6a07c93e4ff9dadc127d59b03cf9987a8095fc7b1e34301131089','f36ee5ad0b08e9c7f9748d020fec0f27aef44e27f0183976d1058464edc8577a','2e5bbe6f471f0037787221f70a3d10562bab34940f42cd4e8969270dc5653540');
INSERT INTO "audit" VALUES(29,'2026-12-01T11:07:04.875757Z','reconcile','operation.succeeded','c520c588c2d9910395dcddbe912cc7de7333b6235d79296819d26e23e88b5208','023c9d8aeeb83cb8fd985bb4d8e71d32c0af818fafefcc0e43b4ccd53c2a1f47','2e5bbe6f471f0037787221f70a3d10562bab34940f42cd4e8969270dc5653540','f898467c9c60fc348342f7695206c4c1b8310fa11e6c6292c2c03bbf299e172c');
INSERT INTO "audit" VALUES(30,'2026-12-01T11:07:05.133421Z','root','approval.approved','81eee6f9814fda2424db9f44ecb7de795730fdf9e1c11fd8ccee943a1e7ce3f7','b0e91590341300c8a0a338b3e321a1eafbfd6bbf230727f6261fe9fdae4b920f','f898467c9c60fc348342f7695206c4c1b8310fa11e6c6292c2c03bbf299e172c','dcfe66fcdba715de8e0dd36af2bdac20b81823eb225e406db48d697d9ec7de55');
INSERT INTO "audit" VALUES(31,'2026-12-01T11:07:05.133421Z','root','plan.approved','81eee6f9814fda2424db9f44ecb7de795730fdf9e1c11fd8ccee943a1e7ce3f7','b07da6af7de43c083af219d5546b8a921b8ee8469555fad732b049229740f295','dcfe66fcdba715de8e0dd36af2bdac20b81823eb225e406db48d697d9ec7de55','818819f1c9023ad03b76d064c69483906f311fd01ad4eebaf9defa347c9e8d73');
INSERT INTO "audit" VALUES(32,'2026-12-01T11:07:06.984129Z','reconcile','operation.sent','81eee6f9814fda2424db9f44ecb7de795730fdf9e1c11fd8ccee943a1e7ce3f7','217bb4379ea477e41a61f6e97bced89f3f0f67f6709c558620da1e1ccc405520','818819f1c9023ad03b76d064c69483906f311fd01ad4eebaf9defa347c9e8d73','ba5ee8baeec2e2bf258a128529778876e17e06570aacebe1ce404f488299dcaf');
INSERT INTO "audit" VALUES(33,'2026-12-01T11:07:07.118989Z','reconcile','operation.succeeded','81eee6f9814fda2424db9f44ecb7de795730fdf9e1c11fd8ccee943a1e7ce3f7','b47c8d5a51ec12712ce96a930702830a89fe43dcebc29ae9218a8722a440de5d','ba5ee8baeec2e2bf258a128529778876e17e06570aacebe1ce404f488299dcaf','583c6f4377a4ee227e94d7c3efe7aface0cc5878d65e442fd08d14d25d642456');
INSERT INTO "audit" VALUES(34,'2026-12-01T11:07:07.591662Z','root','plan.proposed','bf884746fd423594b145db1e1130f6b531b1222042aa0770a9f9e8db055c5f88','ee36b684687215265707726f1360806c13a61a315eda8505cadde4a12321ded1','583c6f4377a4ee227e94d7c3efe7aface0cc5878d65e442fd08d14d25d642456','4fc21207a604aa1afd21227ec13bef261c0b76745f113f43a5eac1656e4910ec');
INSERT INTO "audit" VALUES(35,'2026-12-01T11:07:08.312095Z','reconcile','operation.sent','bf884746fd423594b145db1e1130f6b531b1222042aa0770a9f9e8db055c5f88','e9d065394f40f39777ae28e80ca0d1f0036ada96b50aa58633e5d7f3a7d9641e','4fc21207a604aa1afd21227ec13bef261c0b76745f113f43a5eac1656e4910ec','328738894392960e13cc26db49d29f81d9bfc436e8961a7ba9d674e86afe709a');
INSERT INTO "audit" VALUES(36,'2026-12-01T11:07:08.531041Z','reconcile','operation.succeeded','bf884746fd423594b145db1e1130f6b531b1222042aa0770a9f9e8db055c5f88','6db645d2a62e2ac0d2faa6766048acae53d8fa6a11073814501222f72cf21ade','328738894392960e13cc26db49d29f81d9bfc436e8961a7ba9d674e86afe709a','1b4691bfd98fa5478da38d9ca6b75e23b4771c0789e42ad6c5ab4e0df2f41c83');
INSERT INTO "audit" VALUES(37,'2026-12-01T11:07:09.273832Z','root','plan.skipped','16f926f0c8c3f73d26e3af9ef2ce322a7070a949707c701f5cf8e870e449730f','93cba7418d1d276dcb43d89eb52be9a92c6a85e12ed73a9e4b1e088e564318a2','1b4691bfd98fa5478da38d9ca6b75e23b4771c0789e42ad6c5ab4e0df2f41c83','6b9b967276d6f88475136ea02e964f10ecf605d298d360685fdf6c121d9c28ac');
INSERT INTO "audit" VALUES(38,'2026-12-01T11:07:09.273832Z','root','finding.dismissed','d407c838354eb5a23c57f95c1ea53f78d8eb0de97e859d9a4efb086e64443126','976231cf10bff5adf7b598399472f514b67facdcb623d76252dae651acf3abeb','6b9b967276d6f88475136ea02e964f10ecf605d298d360685fdf6c121d9c28ac','821fd462531ed83a0c9c2823faabf6c72d63a466ceeb0e817071f745c55118c8');
INSERT INTO "audit" VALUES(39,'2026-12-01T11:07:09.983989Z','root','finding.snoozed','fc2d167b05e94071df6abfbd74b1d5ed6ef3023efdca2a61561bd538eb2aa760','1d33dfee8692a37e3f9b69143626646d6b7506d49f229be7b92c78fcf127d66a','821fd462531ed83a0c9c2823faabf6c72d63a466ceeb0e817071f745c55118c8','c24fe3ecad921d4129e4a1a8a745ccc28bbe816c622ae1bfa6af33610967bdbf');
INSERT INTO "audit" VALUES(40,'2026-12-01T11:07:10.331150Z','root','finding.assigned','8277d98f0c64c0068d1ca269c568549a2afcb84af4565afdf5fc3e27c6f404cb','529d4fbcf37b7061395ae4968f34011b004ccbeaaf219229cbc30384518284a9','c24fe3ecad921d4129e4a1a8a745ccc28bbe816c622ae1bfa6af33610967bdbf','33a19fd122d11a54148586bd55ccb7749421f639394948d9694abc7de88c5202');
INSERT INTO "audit" VALUES(41,'2026-12-01T11:07:10.702110Z','root','finding.handled','3d28e34c3ad12e0c6f8d5f37636d3091376d47e73e7963b096f9a6fd126694a3','2f03a2c9c38510488e53d0df94e6024c58fb0f0520e836bc711059cefcb68c47','33a19fd122d11a54148586bd55ccb7749421f639394948d9694abc7de88c5202','367dd53e18b2b467b6c4e96b1c121dbbcad64d4a53fb698a72b1db768e383c38');
INSERT INTO "audit" VALUES(42,'2026-12-01T11:07:11.068951Z','root','user.added','4a8427933a8b4a936c05896ca174d53403a1e3fd803b269050f0eac4c380b21b','3e70ab42e1cede5c77d6bd177f933f4afae9005d5e2afa92c17ebc4c09d710d2','367dd53e18b2b467b6c4e96b1c121dbbcad64d4a53fb698a72b1db768e383c38','ddcf3b776ae32ba5af0bc4ed84c2ab5800b0c2afdfa31c91407e1ea9bff4338c');
INSERT INTO "audit" VALUES(43,'2026-12-01T11:07:16.960263Z','reconcile','finding.resolved','9ee5bfab78427e423ede01483c19134205b3dce91337dd399513ba934b675c08','7968ac0ada0be52a9949fed8cca0e4a06e8228ab05120af5942f23a7cc86f9fd','ddcf3b776ae32ba5af0bc4ed84c2ab5800b0c2afdfa31c91407e1ea9bff4338c','b5371d7738423318f4e5d4781e2bd5991d684695e6b66b3c72b35e3bc152b986');
INSERT INTO "audit" VALUES(44,'2026-12-01T11:07:16.960263Z','reconcile','finding.opened','a922800f08226e8540abb6cdb82cdc81aa6ab21ca74d0eea0f5935abe5fc8257','7662c46aa293fe788139748b084b738f86ff3f161c1a13d958c3836670fdd154','b5371d7738423318f4e5d4781e2bd5991d684695e6b66b3c72b35e3bc152b986','15ead847fd8d524d771260faee00673fec4444fa2092a2ce42ec5255d84348d2');
INSERT INTO "audit" VALUES(45,'2026-12-01T11:07:17.535745Z','reconcile','finding.resolved','98f2a4fa59e305334517391531f06c2915ae9db55fd66521fa503ef7bf2ccf42','dd9809b9e1dcc4a31fb1db0d642e2d8e692152453b06b4f5811d5370c932e356','15ead847fd8d524d771260faee00673fec4444fa2092a2ce42ec5255d84348d2','987a7f5caaf00422ebfecbb61edc7244ab13a5834f17a812bd58aad2c13b1a73');
INSERT INTO "audit" VALUES(46,'2026-12-01T11:07:18.814868Z','reconcile','state.changed','64784e837808d85b21115f8156e9d338fadbaceb20b0f3392e99d17129eb6af2','69e6313f0c095bc0b2129d0979323fb4f08f0023e972eeb37842247538d3fa35','987a7f5caaf00422ebfecbb61edc7244ab13a5834f17a812bd58aad2c13b1a73','f324e0f1527e4dadade51cfced71d82a682d424fadf4a70a4358152832860d8a');
INSERT INTO "audit" VALUES(47,'2026-12-01T11:07:19.354163Z','reconcile','message.queued','7a9fa3d9883c856a96d5f96e6de5712ba327a2371d5bf2d4661db5052cc027fc','1e68c2e34e552526b50a1dbb14aac4bc16260d6064ee9842819195feb7cc3ef3','f324e0f1527e4dadade51cfced71d82a682d424fadf4a70a4358152832860d8a','007d58854244748769f07c702e820901527380e27e98ed3ba394ed1b01d451e5');
INSERT INTO "audit" VALUES(48,'2026-12-01T11:07:19.354163Z','reconcile','run.finished','1bce13f8e318aa5be57332b10a0e0e30f0a81d8a06c6af13c0b839a8af0c9868','adc9b5b1e38e2694b9bd04e02008a445d5d0431aafd0bceb9d4c4fcbe00b5199','007d58854244748769f07c702e820901527380e27e98ed3ba394ed1b01d451e5','c00c7287844a7e756da8463f8da2c21568a45ce1156e9ae5bf96d78327824011');
INSERT INTO "audit" VALUES(49,'2026-12-01T11:07:19.774396Z','reconcile','message.sending','7a9fa3d9883c856a96d5f96e6de5712ba327a2371d5bf2d4661db5052cc027fc','9424776a31d0b0f6b9dc1c8bfed3d53c68ed1158a0cc47d166cbd2e10b51ae6f','c00c7287844a7e756da8463f8da2c21568a45ce1156e9ae5bf96d78327824011','af687c166d39da42164c39fe309e871654ca86321472d9d768a1f4af976b9ce2');
INSERT INTO "audit" VALUES(50,'2026-12-01T11:07:19.926489Z','reconcile','message.sent','7a9fa3d9883c856a96d5f96e6de5712ba327a2371d5bf2d4661db5052cc027fc','7d88136a91e76763dff945f9cc056c15906dd7140091ee968056ab5c8b7bdc93','af687c166d39da42164c39fe309e871654ca86321472d9d768a1f4af976b9ce2','e4f50c9edc37c184fad14105bb4333475b5b5e5f22e1be3a4ee171ad31ea597c');
CREATE TABLE audit_bodies (
	seq BIGINT NOT NULL, 
	salt TEXT NOT NULL, 
	body TEXT NOT NULL, 
	finding TEXT, 
	run TEXT, 
	CONSTRAINT pk_audit_bodies PRIMARY KEY (seq), 
	CONSTRAINT fk_audit_bodies_seq FOREIGN KEY(seq) REFERENCES audit (seq)
);
INSERT INTO "audit_bodies" VALUES(1,'85558f52334674650e2b6f899234b2e6a1d77711fac431899caec39af8b92e3e','{"facts":[["finding","F-39MFQP",null,"b9de5eaa79e8aef3c6411fc227ddeaaa"],["rule","twins",null,"02d1e014139afe079433d5759c5d5f81"]],"finding":"F-39MFQP","from":null,"records":2,"rule":"twins","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"open","version":1}','F-39MFQP','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(2,'28bd5382f43002cda7cae6cff1246ca363aee47ed499852f07f8ea46b5eb297d','{"facts":[["finding","F-4TM2W9",null,"fa87eea0a4e62fba340422b6e9eedae9"]],"finding":"F-4TM2W9","from":null,"records":2,"rule":"twins","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"open","version":1}','F-4TM2W9','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(3,'34092aec854268e6cc1f84b8e51c1e3c9dc297d2730ffe7ad9d08522866b14af','{"facts":[["finding","F-FYVK1X",null,"2dc5e23570d543acf140268514947215"]],"finding":"F-FYVK1X","from":null,"records":2,"rule":"twins","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"open","version":1}','F-FYVK1X','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(4,'0c2c163f4d4aadd785ca52dd85b5d442b37f201c2ed3897c5a996f2e6fc13240','{"facts":[["finding","F-W69S20",null,"e308c511a6a1a722dd0c1fab585746a7"]],"finding":"F-W69S20","from":null,"records":2,"rule":"twins","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"open","version":1}','F-W69S20','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(5,'f1fef0a01d1321e12c342673a6701f066fc6118ab85de811ad575718b7de180b','{"facts":[["finding","F-1KF9W9",null,"dc40327068047348d7f9ae4829fe09a2"],["rule","persons",null,"6d483404885f1c1882433c36b9ad4778"]],"finding":"F-1KF9W9","from":null,"records":2,"rule":"persons","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"open","version":1}','F-1KF9W9','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(6,'18e50fddd68983d55a01d9f17094bd8ab9a52ef2db1fd0955f3859afb6e3161b','{"facts":[["finding","F-8AED7W",null,"d64f0bde02ab8b3f46826da0c6b34c80"]],"finding":"F-8AED7W","from":null,"records":2,"rule":"persons","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"open","version":1}','F-8AED7W','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(7,'e7bca08ffaa91d9a0455c5e0df88e71b5352154d280caa04c6d8785ba135d00c','{"facts":[["finding","F-EMHJYM",null,"e5e8aea59f42dc86fc06ff889254a533"]],"finding":"F-EMHJYM","from":null,"records":2,"rule":"persons","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"open","version":1}','F-EMHJYM','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(8,'13c8ee6e59282b41f089c1c6144757d76492d6800871e8f44e494295a54a0065','{"facts":[["finding","F-M295PR",null,"ab2efa6c14bf5362cf061d2690db51c9"]],"finding":"F-M295PR","from":null,"records":2,"rule":"persons","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"open","version":1}','F-M295PR','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(9,'1558f571b74c6fcf07d9f26b1a14fa07c67a7b229277dab9b98bcb8334cc4082','{"facts":[["finding","F-48RB5Z",null,"4807e8646ace535a2266b2f6f65244e0"],["rule","paid",null,"2e741d1b604c54d198f6f9b90b14c95e"]],"finding":"F-48RB5Z","from":null,"records":1,"rule":"paid","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"open","version":1}','F-48RB5Z','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(10,'731ffda9b3c47445468f6ac33f5b9d13e48a1262c81e3bac2e34ff17755b809d','{"facts":[["finding","F-A43SYH",null,"e702786923b3b32d214906b91385b5e2"]],"finding":"F-A43SYH","from":null,"records":1,"rule":"paid","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"open","version":1}','F-A43SYH','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(11,'641311ef779b9743cb9193331d6aa817fd4b87cad6d219cbf97e4b1fab02731e','{"facts":[["finding","F-KVN02Z",null,"381f50d0b0238d063416f4b95b845cd9"]],"finding":"F-KVN02Z","from":null,"records":1,"rule":"paid","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"open","version":1}','F-KVN02Z','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(12,'52d6121142176052b0a18553903e032bdeb06e839bd52c3b9daa883513916e63','{"facts":[["finding","F-TQTQPG",null,"a0cb841bb40fc63314cb59036c6fdeb1"]],"finding":"F-TQTQPG","from":null,"records":2,"rule":"paid","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"open","version":1}','F-TQTQPG','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(13,'ac17fac621e41ee30f9ffc441447d0c5e3d33993cc578bf026d8b861bcbbd139','{"facts":[["finding","F-AE1F6X",null,"f7affc0c0082c2d7e99a5ccabc6b1e42"],["rule","negative",null,"95c3e04687ad6825886eba396e64042d"]],"finding":"F-AE1F6X","from":null,"records":1,"rule":"negative","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"open","version":1}','F-AE1F6X','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(14,'3b477d9b4903ce49345af3f1f66769ffcc30e724bf1bfb24b9304a4a19e610e2','{"action":"set","also":[["finding","F-39MFQP","open","awaiting_approval"]],"facts":[["finding","F-39MFQP","b9de5eaa79e8aef3c6411fc227ddeaaa","6f5b9594ad446d171e644db84f16be23"],["plan","P-2VVJU3WEN4GG",null,"67caec0f59d96a0ce51e3563bd00ec94"],["limits","rule:twins",null,"9164f22b771c4e30801c4f48f14e5ab0"],["limits","target:sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db",null,"ffec4a9520f009f5a5e33c967bfa5142"]],"finding":"F-39MFQP","from":null,"plan":"P-2VVJU3WEN4GG","plan_hash":"7bba6f36a00e6dcf6a10da8bd9b5ef7d6120973cde4d624bf34780cdc1594396","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-39MFQP','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(15,'10a17bad3b319ac572d4b12a1b83081dc8e2943b1dc4b43fd675f55e1ddcf912','{"action":"set","also":[["finding","F-4TM2W9","open","awaiting_approval"]],"facts":[["finding","F-4TM2W9","fa87eea0a4e62fba340422b6e9eedae9","c5fed28ff3046580abbc16a85f95273d"],["plan","P-NB43Q6OFVKCW",null,"f8cffdf3d59c2a6499ba10c001063d4e"]],"finding":"F-4TM2W9","from":null,"plan":"P-NB43Q6OFVKCW","plan_hash":"2b11d2602cb2122a08e124b9d66d43659ca47d12e828d34dc489a4f63c4a6c49","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-4TM2W9','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(16,'293ff3939113ca3f08ada4d08b0dc4e8ff9ab64b2667833d17aca782dfc55b47','{"action":"set","also":[["finding","F-FYVK1X","open","awaiting_approval"]],"facts":[["finding","F-FYVK1X","2dc5e23570d543acf140268514947215","9450b8c16a6f9c772e68c26b0ee5dd5b"],["plan","P-AY6O2JI3SQJS",null,"43f2f674410fa624812acb8125ab8678"]],"finding":"F-FYVK1X","from":null,"plan":"P-AY6O2JI3SQJS","plan_hash":"4a782080f91d34f7f25cb640e5679f4f1d0b4628baa82570de1ba31eea45d4f5","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-FYVK1X','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(17,'321c196fe2e6c2397a6d0324f51186763d838a158abd16b5e5188e3378b0c3a2','{"action":"set","also":[["finding","F-W69S20","open","awaiting_approval"]],"facts":[["finding","F-W69S20","e308c511a6a1a722dd0c1fab585746a7","6c01f32df8ebc5f5ccf6a04c6b6fd954"],["plan","P-FVGCRFW4DQPI",null,"3cc3f8916e6ec8b9103cc44a504e049d"]],"finding":"F-W69S20","from":null,"plan":"P-FVGCRFW4DQPI","plan_hash":"710a3572c0a9bb529f026618d4d0024f4fa3c59063f6ca86f21f5e5fd971255c","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-W69S20','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(18,'c00680afce4831560ff37c4b2471217809008fa1f8b26b1e79ce007fa10df5b5','{"channel":"team","facts":[["rule","twins","02d1e014139afe079433d5759c5d5f81","4bfa6d6cd5c8c894ee0076e02ddd265a"]],"message":"msg1_d274e083040c222037b03eb2","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m"}',NULL,'run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(19,'c1ae574a44e78d3e3e5dc9bcbd97e1bb4bbaea6f6a5d882fefc992081f6834d7','{"attempt":1,"failed":[],"job":"nightly","release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":["twins","persons","paid","negative"],"run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","slot":"2026-12-01T11:06:28.416724Z","started":"2026-12-01T11:06:38.344307Z","status":"succeeded","trigger":"manual"}',NULL,'run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(20,'3dae4aa6050abc6ecce3e606f11a397d96bc28d3b91b54dec3592be593b2d5ca','{"attempt":1,"channel":"team","message":"msg1_d274e083040c222037b03eb2","outcome_unknown":false,"run":"run1_v23uvwbzaqjq2csxqmbbp24d6m"}',NULL,'run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(21,'5f2fb929107b3ebe985abfb721aed4964beda9c1032cf94f0123dda7a824dbd7','{"attempt":1,"channel":"team","found":false,"message":"msg1_d274e083040c222037b03eb2","receipt":{"details":{"notice":"msg1_d274e083040c222037b03eb2"},"where":"file messages.jsonl"},"run":"run1_v23uvwbzaqjq2csxqmbbp24d6m"}',NULL,'run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(22,'b8f5657350d98e0c9ffb833298421bd3a08d398f64357f2324ee6b39589520ab','{"facts":[["finding","F-39MFQP","6f5b9594ad446d171e644db84f16be23","86e69bd3838c752a3b28d36ed2407fbb"],["limits","rule:twins","9164f22b771c4e30801c4f48f14e5ab0","59950ece2ffa14d51a38fac75af3313e"],["limits","target:sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db","ffec4a9520f009f5a5e33c967bfa5142","f9f0f4114419e18cdcd82413e117386f"]],"finding":"F-39MFQP","note":"the newer address","record":"a4df55d2aaa35b41e08881b1a53f43fb","records":2,"rule":"twins","version":3}','F-39MFQP',NULL);
INSERT INTO "audit_bodies" VALUES(23,'a4b95d291218cd786065cd972f24246b81ccbeb4039e22899d77706e495e8ff9','{"facts":[["plan","P-2VVJU3WEN4GG","67caec0f59d96a0ce51e3563bd00ec94","284d8074fdf963af743a500cb2416978"]],"fence":0,"finding":"F-39MFQP","from":"awaiting_approval","plan":"P-2VVJU3WEN4GG","reason":"root chose another keeper","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"skipped"}','F-39MFQP','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(24,'40aaa0ad57f7dfda00982b859928c53414cce4b170eb80533ffd2c6c5e4582b3','{"action":"set","facts":[["plan","P-H4ZW6FH2KK5V",null,"5d178bbfc7771be057bebdbdbbbecd0f"]],"finding":"F-39MFQP","from":null,"plan":"P-H4ZW6FH2KK5V","plan_hash":"d869efb25106e9c7d120b63def2d62a83d0aad636afa5dc473d10c2e4c20804d","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":null,"to":"awaiting_approval","undoes":null}','F-39MFQP',NULL);
INSERT INTO "audit_bodies" VALUES(25,'6c8e7924d708361a38705475a61a2e86e102b5c48b5ffd7f6b7b90e9262f53b3','{"by":"root","decision":"approved","facts":[["finding","F-W69S20","6c01f32df8ebc5f5ccf6a04c6b6fd954","4b666cc3b4e2624d38cbb5f2172fba65"],["plan","P-FVGCRFW4DQPI","3cc3f8916e6ec8b9103cc44a504e049d","f133a33797a075640edf4168d8aae283"]],"finding":"F-W69S20","plan":"P-FVGCRFW4DQPI","plan_hash":"710a3572c0a9bb529f026618d4d0024f4fa3c59063f6ca86f21f5e5fd971255c","system":"root@vm","was":null}','F-W69S20',NULL);
INSERT INTO "audit_bodies" VALUES(26,'d97c563f8d9c2bf23799c4b9d6cd88a47f61d92938895b872b75842eaf103254','{"also":[["finding","F-W69S20","awaiting_approval","approved"]],"fence":0,"finding":"F-W69S20","from":"awaiting_approval","plan":"P-FVGCRFW4DQPI","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","story":"finding.approved","to":"approved"}','F-W69S20','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(27,'4b00f8c85b1b711ec9227540b9755b3b58fb21fd41e568fe37afb764c3dace35','{"source":"shop","target":"sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db"}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(28,'c4eddcf89555fb47b72d15801b1a688e4ea22e64145e5b7478214afb4533976c','{"also":[["finding","F-W69S20","approved","cleaning"]],"attempt":1,"facts":[["plan","P-FVGCRFW4DQPI","f133a33797a075640edf4168d8aae283","df1747c4af00aea73d9a947d684e6d5c"]],"fence":1,"finding":"F-W69S20","from":"approved","keys":["rk1.sumyoj.6g3nshb2xgbdjltf6qsnz2vkmqyumw2lfb5va6lsmgkv2qee55ha"],"plan":"P-FVGCRFW4DQPI","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","story":"finding.cleaning","to":"sent"}','F-W69S20','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(29,'ae0c769e338163b21119fef3ffdc317b965269d7478f5b0883769fef7d1df6aa','{"also":[["finding","F-W69S20","cleaning","cleaned"]],"facts":[["finding","F-W69S20","4b666cc3b4e2624d38cbb5f2172fba65","93abcb2a97506ebc5c38b86aa631e20b"],["plan","P-FVGCRFW4DQPI","df1747c4af00aea73d9a947d684e6d5c","5186dfdba9573b0e2d6fbcce8dcee134"]],"fence":1,"finding":"F-W69S20","from":"sent","plan":"P-FVGCRFW4DQPI","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","story":"finding.cleaned","to":"succeeded"}','F-W69S20','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(30,'49f5c4e75da6386ec0617b4603b8e12d8b4f7cef29f3db74a642bdbbbdd59c61','{"by":"root","decision":"approved","facts":[["finding","F-4TM2W9","c5fed28ff3046580abbc16a85f95273d","2e0178535fc4bd27980a47422ef8f2df"],["plan","P-NB43Q6OFVKCW","f8cffdf3d59c2a6499ba10c001063d4e","443bf9954b6a03710d7bc97bd4349eb6"]],"finding":"F-4TM2W9","plan":"P-NB43Q6OFVKCW","plan_hash":"2b11d2602cb2122a08e124b9d66d43659ca47d12e828d34dc489a4f63c4a6c49","system":"root@vm","was":null}','F-4TM2W9',NULL);
INSERT INTO "audit_bodies" VALUES(31,'40c27fe6943a164093739d60e3bce8f9e2301621c96c09632bf41b2c42cc4e20','{"also":[["finding","F-4TM2W9","awaiting_approval","approved"]],"fence":0,"finding":"F-4TM2W9","from":"awaiting_approval","plan":"P-NB43Q6OFVKCW","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","story":"finding.approved","to":"approved"}','F-4TM2W9','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(32,'61ecadc50af445e6e419f328bbbfc2513f7f0903663511ea52cdfa43781b2885','{"also":[["finding","F-4TM2W9","approved","cleaning"]],"attempt":1,"facts":[["plan","P-NB43Q6OFVKCW","443bf9954b6a03710d7bc97bd4349eb6","c43188fb67cbfac03db06f9392eb2b56"]],"fence":1,"finding":"F-4TM2W9","from":"approved","keys":["rk1.sumyoj.tjnd3lbpxygxfccpwqwh2igv4iw6zimliomvq2imysd374zvpkaa"],"plan":"P-NB43Q6OFVKCW","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","story":"finding.cleaning","to":"sent"}','F-4TM2W9','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(33,'716f66fbe3ac383a649682fee0d7911ac9ad6ed9d2fef53daf473ada4f418ac6','{"also":[["finding","F-4TM2W9","cleaning","cleaned"]],"facts":[["finding","F-4TM2W9","2e0178535fc4bd27980a47422ef8f2df","d2cdb134deb49cd0adca1ca898989836"],["plan","P-NB43Q6OFVKCW","c43188fb67cbfac03db06f9392eb2b56","a3921262c871ab7738ae18cf532d56cb"]],"fence":1,"finding":"F-4TM2W9","from":"sent","plan":"P-NB43Q6OFVKCW","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","story":"finding.cleaned","to":"succeeded"}','F-4TM2W9','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(34,'d596e4b456e0576cf56c2fddeac4a955ac9453487b89bed1013649084e3abfaf','{"action":"undo","facts":[["plan","P-B4POUJ75AET2",null,"2b3d37297a0c960ca1536694c1e527df"]],"finding":"F-W69S20","from":null,"plan":"P-B4POUJ75AET2","plan_hash":"a327e75e9488300a5e80d1069bf21b8be95490eb592cce32225aedcc81280460","policy":"none","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":null,"to":"approved","undoes":"P-FVGCRFW4DQPI"}','F-W69S20',NULL);
INSERT INTO "audit_bodies" VALUES(35,'c0aa1be4ee1e9275012806ce35ad35414a1277c8e310f6b58458583686460e61','{"also":[["plan","P-FVGCRFW4DQPI","succeeded","compensating"]],"attempt":1,"facts":[["plan","P-B4POUJ75AET2","2b3d37297a0c960ca1536694c1e527df","0f500db1254319e12d227c32bf272cb4"]],"fence":1,"finding":"F-W69S20","from":"approved","keys":["rk1.sumyoj.fetm5cyl6dwxolawd6v363qcirrzxxif46td2xenvlw7ivg3dzwa"],"plan":"P-B4POUJ75AET2","run":null,"to":"sent"}','F-W69S20',NULL);
INSERT INTO "audit_bodies" VALUES(36,'5e39a860016ff49bfc83335816b4a5ec9cdc74f447b0d88a21ea0f5d897dd412','{"also":[["plan","P-FVGCRFW4DQPI","compensating","compensated"],["finding","F-W69S20","cleaned","undone"]],"facts":[["finding","F-W69S20","93abcb2a97506ebc5c38b86aa631e20b","8b97e0d7752672d4ddf834fef12b6c63"],["plan","P-B4POUJ75AET2","0f500db1254319e12d227c32bf272cb4","93e1c7a27d387fbfe2e06036ef162f04"]],"fence":1,"finding":"F-W69S20","from":"sent","plan":"P-B4POUJ75AET2","run":null,"story":"finding.undone","to":"succeeded"}','F-W69S20',NULL);
INSERT INTO "audit_bodies" VALUES(37,'ecf764fba71a1f766c21c405937ebefece0d3438c86db8989745fe54816023d4','{"facts":[["finding","F-FYVK1X","9450b8c16a6f9c772e68c26b0ee5dd5b","f887918c4e7180be5135f8df2d08d405"],["plan","P-AY6O2JI3SQJS","43f2f674410fa624812acb8125ab8678","0795130f0459c4fe64f776c9b1392a2c"],["limits","rule:twins","59950ece2ffa14d51a38fac75af3313e","71777535980be235409f490aea0d853f"],["limits","target:sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db","f9f0f4114419e18cdcd82413e117386f","4b4c6ffa3d08d3a8c31695c0f3f01b98"]],"fence":0,"finding":"F-FYVK1X","from":"awaiting_approval","plan":"P-AY6O2JI3SQJS","reason":"dismissed by root","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","to":"skipped"}','F-FYVK1X','run1_v23uvwbzaqjq2csxqmbbp24d6m');
INSERT INTO "audit_bodies" VALUES(38,'ab54a80a8f5603881ac913034bc6964c5ef4deb9549d15218fbb7d629e935416','{"finding":"F-FYVK1X","from":"awaiting_approval","note":"two people","pairs":1,"records":2,"rule":"twins","to":"dismissed","version":2}','F-FYVK1X',NULL);
INSERT INTO "audit_bodies" VALUES(39,'2f2dd1b969092c2131fbcf89028aacbcc1a315a53fb95267aa411b1d74af63b0','{"facts":[["finding","F-1KF9W9","dc40327068047348d7f9ae4829fe09a2","2278fc73f14bade18b5478a8e61b8dd1"]],"finding":"F-1KF9W9","from":"open","records":2,"rule":"persons","to":"snoozed","until":"2999-01-01 00:00 UTC","version":1}','F-1KF9W9',NULL);
INSERT INTO "audit_bodies" VALUES(40,'28355e52dbc4b72e256a1523a562a3b0e903cceba8ae975310fc12cc453a1ab6','{"facts":[["finding","F-8AED7W","d64f0bde02ab8b3f46826da0c6b34c80","6fbf83ff32d8ad7b38088cbe1c9a5825"]],"finding":"F-8AED7W","rule":"persons","whom":"bob"}','F-8AED7W',NULL);
INSERT INTO "audit_bodies" VALUES(41,'005d0d6a16b23856c570d600bf58331d5e9abbf864ce5948b0d92799d25af8b0','{"facts":[["finding","F-A43SYH","e702786923b3b32d214906b91385b5e2","f7d04924e22a370d082bab005a8011e0"]],"finding":"F-A43SYH","from":"open","note":"refunded","pairs":0,"records":1,"rule":"paid","to":"handled","version":1}','F-A43SYH',NULL);
INSERT INTO "audit_bodies" VALUES(42,'2c4077010213cffd120160972930c9279ae3b4fbdb789e2b5bb98fe8d00bc869','{"facts":[["user","ada",null,"8c0cd690bb8acd4bce3cd1d8ccd86b2f"]],"role":"operator","sees_personal":false,"user":"ada"}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(43,'c61ca090d1c092087e84be8e92c184a0e6001b2e52ffee901bd557b090d7de57','{"facts":[["finding","F-KVN02Z","381f50d0b0238d063416f4b95b845cd9","1afb4e1d67d7202cc7f422bff9a29c1a"]],"finding":"F-KVN02Z","from":"open","records":1,"rule":"paid","run":"run1_ydeguoc2fjyuey2n6s43vl2aza","to":"resolved","version":1,"why":"its records no longer match"}','F-KVN02Z','run1_ydeguoc2fjyuey2n6s43vl2aza');
INSERT INTO "audit_bodies" VALUES(44,'aae2461aa4675eefa4eb5f81e835d863faffeb37a94ee070c645a342bf640673','{"facts":[["finding","F-CM48J8",null,"a8e4c8ed0fa39777c37eb465ef4c7fcb"]],"finding":"F-CM48J8","from":null,"records":1,"rule":"paid","run":"run1_ydeguoc2fjyuey2n6s43vl2aza","to":"open","version":1}','F-CM48J8','run1_ydeguoc2fjyuey2n6s43vl2aza');
INSERT INTO "audit_bodies" VALUES(45,'c8cb20e5a366679e87bb8d37cb2968a5f4cdc669e999e2f6f5db6a2145593fa2','{"facts":[["finding","F-AE1F6X","f7affc0c0082c2d7e99a5ccabc6b1e42","eb19579b8bdfb60c593b106d5b76d487"]],"finding":"F-AE1F6X","from":"open","records":1,"rule":"negative","run":"run1_ydeguoc2fjyuey2n6s43vl2aza","to":"resolved","version":1,"why":"its records no longer match"}','F-AE1F6X','run1_ydeguoc2fjyuey2n6s43vl2aza');
INSERT INTO "audit_bodies" VALUES(46,'b677ab0d7b2dc5a2b2bf87dca2c61609047492158ce7fbf4357ea267d3d308dd','{"facts":[["limits","rule:twins","71777535980be235409f490aea0d853f","801f5b3513f1615239e429d1746d3629"],["limits","target:sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db","4b4c6ffa3d08d3a8c31695c0f3f01b98","6ed512800cba2cd2cf0d418fc57aa4df"],["plan","P-H4ZW6FH2KK5V","5d178bbfc7771be057bebdbdbbbecd0f","a07e60787774bd93653063a8dc455b51"]]}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(47,'2a0667892bdfd65cbce9a88065a7e278e3ba2821d543c0affe61cd65cd20b2a3','{"channel":"team","message":"msg1_6d98fd68b0cb0cd39c5e36ca","run":"run1_ydeguoc2fjyuey2n6s43vl2aza"}',NULL,'run1_ydeguoc2fjyuey2n6s43vl2aza');
INSERT INTO "audit_bodies" VALUES(48,'443566ab1e36d2e1ea92856c4b01ce533a329e500dda1b77c377a0f10fd2123b','{"attempt":1,"failed":[],"job":"nightly","release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":["twins","persons","paid","negative"],"run":"run1_ydeguoc2fjyuey2n6s43vl2aza","slot":"2026-12-01T11:07:12.775697Z","started":"2026-12-01T11:07:12.913778Z","status":"succeeded","trigger":"manual"}',NULL,'run1_ydeguoc2fjyuey2n6s43vl2aza');
INSERT INTO "audit_bodies" VALUES(49,'11e19d2748582028e716e2e3e9182816714d902eb64d84d4d9b9ce55229aa79b','{"attempt":1,"channel":"team","message":"msg1_6d98fd68b0cb0cd39c5e36ca","outcome_unknown":false,"run":"run1_ydeguoc2fjyuey2n6s43vl2aza"}',NULL,'run1_ydeguoc2fjyuey2n6s43vl2aza');
INSERT INTO "audit_bodies" VALUES(50,'aafc477e0df25ca5cf637592b84650e3188f1247a29eb7715b2250404815b179','{"attempt":1,"channel":"team","found":false,"message":"msg1_6d98fd68b0cb0cd39c5e36ca","receipt":{"details":{"notice":"msg1_6d98fd68b0cb0cd39c5e36ca"},"where":"file messages.jsonl"},"run":"run1_ydeguoc2fjyuey2n6s43vl2aza"}',NULL,'run1_ydeguoc2fjyuey2n6s43vl2aza');
CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	head TEXT NOT NULL, 
	CONSTRAINT pk_audit_head PRIMARY KEY (id), 
	CONSTRAINT ck_audit_head_one_row CHECK (id = 1)
);
INSERT INTO "audit_head" VALUES(1,50,'e4f50c9edc37c184fad14105bb4333475b5b5e5f22e1be3a4ee171ad31ea597c');
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
INSERT INTO "checkpoints" VALUES(21,1,'39f438300140173930062565794322d598b66efea05878a16cf7948c4b190aaa','2026-12-01T11:06:57.117733Z','3e5892688c2c1200422c13006a0033b7e4d18eda25e33eb54fbf74e45e0e77cf','99c48f73acc7d72d1a454986f67a16917ad77db029fd96c6ed386957db1348560e58751d90ebfc508f42724a823cd62282e3888b87d668a1228383b3adb6c406');
INSERT INTO "checkpoints" VALUES(24,1,'de82035e684962b4ca4fe27839c3426a924b7464b73050a21edbd839c0d440ae','2026-12-01T11:07:01.852128Z','3e5892688c2c1200422c13006a0033b7e4d18eda25e33eb54fbf74e45e0e77cf','8b8ab097db44d2477665c4e2270ca294203a03ffc41f5f959d7640fc1f61c044ec0a476fd2fbc7e04fc6f7127baff547dbce081cdb932711a225c983c0f7b80f');
INSERT INTO "checkpoints" VALUES(33,1,'583c6f4377a4ee227e94d7c3efe7aface0cc5878d65e442fd08d14d25d642456','2026-12-01T11:07:07.226293Z','3e5892688c2c1200422c13006a0033b7e4d18eda25e33eb54fbf74e45e0e77cf','58d4e6e70b39639c9b059fd3cc95e3eebfb06fce22e44ba2639a091b40cbc1142b4dfec04f76b110c30152e1238633d92809f1cad4ebf25ae1ad0d6d21434f04');
INSERT INTO "checkpoints" VALUES(36,1,'1b4691bfd98fa5478da38d9ca6b75e23b4771c0789e42ad6c5ab4e0df2f41c83','2026-12-01T11:07:08.966335Z','3e5892688c2c1200422c13006a0033b7e4d18eda25e33eb54fbf74e45e0e77cf','c997056d5c0c3c36ffefac59d7dd58ce50e320ff7f0924cc69fd85d281e2882119705a7835cb45ef67245b0b070fcd094adb5bf2e6b2382eb4cbeaaa3830470e');
INSERT INTO "checkpoints" VALUES(50,1,'e4f50c9edc37c184fad14105bb4333475b5b5e5f22e1be3a4ee171ad31ea597c','2026-12-01T11:07:20.056534Z','3e5892688c2c1200422c13006a0033b7e4d18eda25e33eb54fbf74e45e0e77cf','a82f46b283928453dbf72eaceadd043526876100c8eb90e8478dc8d1b85ca4e24bfc8d0d5c9bd48dd7ded2b30191e1db4d93ec7db4fb73bb70f858c6242d0705');
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
INSERT INTO "dataset_schemas" VALUES('customers','twins','1e25c805782bdb4a8494d66807fb20b12c66ed294a8079cc2f1ac0983bc976c7','{"groups":[["run1_v23uvwbzaqjq2csxqmbbp24d6m",4],["run1_ydeguoc2fjyuey2n6s43vl2aza",3]],"previous":{"bare":{},"cleaned":0,"empty":{},"groups":4,"lacking":{"email":0.0,"id":0.0,"status":0.0},"members":8,"read":8,"rule":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","types":{"email":"text","id":"integer","merged_into":"integer","name":"text","phone":"text","status":"text"},"used":["email","id","merged_into","status"]},"shape":{"bare":{},"cleaned":0,"empty":{},"groups":3,"lacking":{"email":0.0,"id":0.0,"status":0.0},"members":6,"read":8,"rule":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","run":"run1_ydeguoc2fjyuey2n6s43vl2aza","types":{"email":"text","id":"integer","merged_into":"integer","name":"text","phone":"text","status":"text"},"used":["email","id","merged_into","status"]},"waiting":null}','2026-12-01T11:07:13.771775Z');
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
INSERT INTO "dataset_stats" VALUES('customers','twins','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:42.222840Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('customers','persons','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:45.252046Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('orders','paid','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:50.053729Z',3,3,0,4);
INSERT INTO "dataset_stats" VALUES('charges','paid','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:50.053729Z',4,4,0,4);
INSERT INTO "dataset_stats" VALUES('charges','negative','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:50.757856Z',4,4,0,1);
INSERT INTO "dataset_stats" VALUES('customers','twins','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:13.771775Z',8,7,0,3);
INSERT INTO "dataset_stats" VALUES('customers','persons','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:14.531455Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('orders','paid','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:16.960263Z',3,3,0,4);
INSERT INTO "dataset_stats" VALUES('charges','paid','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:16.960263Z',4,4,0,4);
INSERT INTO "dataset_stats" VALUES('charges','negative','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:17.535745Z',4,4,0,0);
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
INSERT INTO "effects" VALUES('rk1.sumyoj.6g3nshb2xgbdjltf6qsnz2vkmqyumw2lfb5va6lsmgkv2qee55ha','P-FVGCRFW4DQPI','sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','set:merged_into,status','13259cb6929c30b7a6eeb2fcf3ade877418fae8f9b6d4fe52ef04b138b912a05',1,'41ecc1f7ec4fe16cda3a7daf12f186037cd55e402964757caee920a387bc2619','compensated',0,'2026-12-01T11:07:04.708232Z','2026-12-01T11:07:04.875757Z');
INSERT INTO "effects" VALUES('rk1.sumyoj.tjnd3lbpxygxfccpwqwh2igv4iw6zimliomvq2imysd374zvpkaa','P-NB43Q6OFVKCW','sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','set:merged_into,status','1a42d21786e9fbe48efb6c8453bd709793254cad4a946f865ac9a5b34110a85d',1,'bb934f2a74f99e1a16840b9004f119c79fa675229cd5932963745963b6348c62','succeeded',0,'2026-12-01T11:07:06.984129Z','2026-12-01T11:07:07.118989Z');
INSERT INTO "effects" VALUES('rk1.sumyoj.fetm5cyl6dwxolawd6v363qcirrzxxif46td2xenvlw7ivg3dzwa','P-B4POUJ75AET2','sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','set:merged_into,status.undo','13259cb6929c30b7a6eeb2fcf3ade877418fae8f9b6d4fe52ef04b138b912a05',1,'6548be15972b5e83845fa8e9e9cca54bf1862cb6815ec6deaaaa00c0eaba6cf9','succeeded',0,'2026-12-01T11:07:08.312095Z','2026-12-01T11:07:08.531041Z');
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
INSERT INTO "facts" VALUES('finding','F-39MFQP','86e69bd3838c752a3b28d36ed2407fbb');
INSERT INTO "facts" VALUES('finding','F-4TM2W9','d2cdb134deb49cd0adca1ca898989836');
INSERT INTO "facts" VALUES('finding','F-FYVK1X','f887918c4e7180be5135f8df2d08d405');
INSERT INTO "facts" VALUES('finding','F-W69S20','8b97e0d7752672d4ddf834fef12b6c63');
INSERT INTO "facts" VALUES('rule','twins','4bfa6d6cd5c8c894ee0076e02ddd265a');
INSERT INTO "facts" VALUES('finding','F-1KF9W9','2278fc73f14bade18b5478a8e61b8dd1');
INSERT INTO "facts" VALUES('finding','F-8AED7W','6fbf83ff32d8ad7b38088cbe1c9a5825');
INSERT INTO "facts" VALUES('finding','F-EMHJYM','e5e8aea59f42dc86fc06ff889254a533');
INSERT INTO "facts" VALUES('finding','F-M295PR','ab2efa6c14bf5362cf061d2690db51c9');
INSERT INTO "facts" VALUES('rule','persons','6d483404885f1c1882433c36b9ad4778');
INSERT INTO "facts" VALUES('finding','F-48RB5Z','4807e8646ace535a2266b2f6f65244e0');
INSERT INTO "facts" VALUES('finding','F-A43SYH','f7d04924e22a370d082bab005a8011e0');
INSERT INTO "facts" VALUES('finding','F-KVN02Z','1afb4e1d67d7202cc7f422bff9a29c1a');
INSERT INTO "facts" VALUES('finding','F-TQTQPG','a0cb841bb40fc63314cb59036c6fdeb1');
INSERT INTO "facts" VALUES('rule','paid','2e741d1b604c54d198f6f9b90b14c95e');
INSERT INTO "facts" VALUES('finding','F-AE1F6X','eb19579b8bdfb60c593b106d5b76d487');
INSERT INTO "facts" VALUES('rule','negative','95c3e04687ad6825886eba396e64042d');
INSERT INTO "facts" VALUES('plan','P-2VVJU3WEN4GG','284d8074fdf963af743a500cb2416978');
INSERT INTO "facts" VALUES('plan','P-AY6O2JI3SQJS','0795130f0459c4fe64f776c9b1392a2c');
INSERT INTO "facts" VALUES('plan','P-FVGCRFW4DQPI','5186dfdba9573b0e2d6fbcce8dcee134');
INSERT INTO "facts" VALUES('plan','P-NB43Q6OFVKCW','a3921262c871ab7738ae18cf532d56cb');
INSERT INTO "facts" VALUES('limits','rule:twins','801f5b3513f1615239e429d1746d3629');
INSERT INTO "facts" VALUES('limits','target:sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','6ed512800cba2cd2cf0d418fc57aa4df');
INSERT INTO "facts" VALUES('plan','P-H4ZW6FH2KK5V','a07e60787774bd93653063a8dc455b51');
INSERT INTO "facts" VALUES('plan','P-B4POUJ75AET2','93e1c7a27d387fbfe2e06036ef162f04');
INSERT INTO "facts" VALUES('user','ada','8c0cd690bb8acd4bce3cd1d8ccd86b2f');
INSERT INTO "facts" VALUES('finding','F-CM48J8','a8e4c8ed0fa39777c37eb465ef4c7fcb');
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
INSERT INTO "finding_aliases" VALUES('d77034a138293c079229cccc8ab5148a1ff7c179c35013e14165e5cb598a5048','F-39MFQP','2026-12-01T11:06:42.222840Z');
INSERT INTO "finding_aliases" VALUES('137cf716af983dad57cae9dad9897219da3f84fe0f7ca16d9633f433dadae2bc','F-4TM2W9','2026-12-01T11:06:42.222840Z');
INSERT INTO "finding_aliases" VALUES('8d0867d1f301957fc530ec9ada71c6413d4e0356e111d5f4578cb7fe8bf104d5','F-FYVK1X','2026-12-01T11:06:42.222840Z');
INSERT INTO "finding_aliases" VALUES('7b78eed930f265771e152d5be132faf6a6979eb2cdf4073177837cc6581742c3','F-W69S20','2026-12-01T11:06:42.222840Z');
INSERT INTO "finding_aliases" VALUES('4de1127e30e667b660741382ba4887787791903f7d29ed11dbff41c013f6f298','F-1KF9W9','2026-12-01T11:06:45.252046Z');
INSERT INTO "finding_aliases" VALUES('c8005c8f81e4564a0d5105828a02754bfad90e2457c46cc11fe28fae37d22bcf','F-8AED7W','2026-12-01T11:06:45.252046Z');
INSERT INTO "finding_aliases" VALUES('0a20151e72ec0d5de32aacb69a026ba5dfc1f33f0f5346f384234164cc8e5357','F-EMHJYM','2026-12-01T11:06:45.252046Z');
INSERT INTO "finding_aliases" VALUES('7f80b75f46db68efc66ab0186d2dbc910635a0901d2bbc14b37c8ef5a8df26bd','F-M295PR','2026-12-01T11:06:45.252046Z');
INSERT INTO "finding_aliases" VALUES('6cf4c4403c4ad7c3c91ec17679af2587450d5b6e598cbcd95410d74d2cda5a74','F-48RB5Z','2026-12-01T11:06:50.053729Z');
INSERT INTO "finding_aliases" VALUES('e6be0250e6a167f7c8a4b4ad09ab4b19c14f2a447611e58d190d68d7865d86e6','F-A43SYH','2026-12-01T11:06:50.053729Z');
INSERT INTO "finding_aliases" VALUES('fee42b732737579d256fc8949f537ed39d92ff1a01edc2197e881558b1ce26ae','F-KVN02Z','2026-12-01T11:06:50.053729Z');
INSERT INTO "finding_aliases" VALUES('cde5ffef6644b8d5fcdc4893c022ea7c19026f894f92051f9cbfb9ce974c9784','F-TQTQPG','2026-12-01T11:06:50.053729Z');
INSERT INTO "finding_aliases" VALUES('8844f17012983db39e6a72a011555afe8ffcb90c228e74e2b97c86edbbea3889','F-AE1F6X','2026-12-01T11:06:50.757856Z');
INSERT INTO "finding_aliases" VALUES('d690e314d68d87444246c277eccbe914cee2dd0ae0822749439057d1fa36cd43','F-CM48J8','2026-12-01T11:07:16.960263Z');
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
INSERT INTO "finding_members" VALUES('F-39MFQP','[["n","7"]]',0,'keeper','[["email",["t","di@example.com"]],["id",["z","7"]]]','2026-12-01T11:06:42.222840Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-39MFQP','[["n","8"]]',1,'surplus','[["email",["t","di@example.com"]],["id",["z","8"]]]','2026-12-01T11:06:42.222840Z',NULL,'root','2026-12-01T11:07:01.144234Z',NULL);
INSERT INTO "finding_members" VALUES('F-4TM2W9','[["n","3"]]',0,'keeper','[["email",["t","bob@example.com"]],["id",["z","3"]]]','2026-12-01T11:06:42.222840Z','2026-12-01T11:07:07.118989Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-4TM2W9','[["n","4"]]',1,'surplus','[["email",["t","BOB@example.com"]],["id",["z","4"]]]','2026-12-01T11:06:42.222840Z','2026-12-01T11:07:07.118989Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-FYVK1X','[["n","5"]]',0,'keeper','[["email",["t","cy@example.com"]],["id",["z","5"]]]','2026-12-01T11:06:42.222840Z','2026-12-01T11:07:09.273832Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-FYVK1X','[["n","6"]]',1,'surplus','[["email",["t","cy@example.com"]],["id",["z","6"]]]','2026-12-01T11:06:42.222840Z','2026-12-01T11:07:09.273832Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-W69S20','[["n","1"]]',0,'keeper','[["email",["t","ada@example.com"]],["id",["z","1"]]]','2026-12-01T11:06:42.222840Z','2026-12-01T11:07:04.875757Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-W69S20','[["n","2"]]',1,'surplus','[["email",["t"," Ada@example.com"]],["id",["z","2"]]]','2026-12-01T11:06:42.222840Z','2026-12-01T11:07:04.875757Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-1KF9W9','[["n","3"]]',0,'keeper','[["phone",["t","+49 3"]],["name",["t","Bob Roe"]]]','2026-12-01T11:06:45.252046Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-1KF9W9','[["n","4"]]',1,'surplus','[["phone",["t","+49 4"]],["name",["t","Bob Roe"]]]','2026-12-01T11:06:45.252046Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-8AED7W','[["n","5"]]',0,'keeper','[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','2026-12-01T11:06:45.252046Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-8AED7W','[["n","6"]]',1,'surplus','[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','2026-12-01T11:06:45.252046Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-EMHJYM','[["n","1"]]',0,'keeper','[["phone",["t","+49 1"]],["name",["t","Ada Byron"]]]','2026-12-01T11:06:45.252046Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-EMHJYM','[["n","2"]]',1,'surplus','[["phone",["t","+49 1"]],["name",["t","A. Byron"]]]','2026-12-01T11:06:45.252046Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-M295PR','[["n","7"]]',0,'keeper','[["phone",["t","+49 7"]],["name",["t","Di Poe"]]]','2026-12-01T11:06:45.252046Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-M295PR','[["n","8"]]',1,'surplus','[["phone",["t","+49 8"]],["name",["t","Di Poe"]]]','2026-12-01T11:06:45.252046Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-48RB5Z','[["@","charges"],["t","c3"]]',0,'right','[["order_id",["t","D"]],["amount",["n","7.00"]]]','2026-12-01T11:06:50.053729Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-A43SYH','[["t","C"]]',0,'left','[["id",["t","C"]],["total",["n","30.00"]]]','2026-12-01T11:06:50.053729Z','2026-12-01T11:07:10.702110Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-KVN02Z','[["@","charges"],["t","c4"]]',0,'right','[["order_id",["t","E"]],["amount",["n","-3.00"]]]','2026-12-01T11:06:50.053729Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-TQTQPG','[["t","B"]]',0,'left','[["id",["t","B"]],["total",["n","20.00"]]]','2026-12-01T11:06:50.053729Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-TQTQPG','[["@","charges"],["t","c2"]]',1,'right','[["order_id",["t","B"]],["amount",["n","21.50"]]]','2026-12-01T11:06:50.053729Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-AE1F6X','[["t","c4"]]',0,'record','[["amount",["n","-3.00"]]]','2026-12-01T11:06:50.757856Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-CM48J8','[["@","charges"],["t","c5"]]',0,'right','[["order_id",["t","F"]],["amount",["n","99.00"]]]','2026-12-01T11:07:16.960263Z',NULL,NULL,NULL,NULL);
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
INSERT INTO "findings" VALUES('F-39MFQP','d77034a138293c079229cccc8ab5148a1ff7c179c35013e14165e5cb598a5048','twins','duplicates','customers','awaiting_approval',3,3,'[["email",["t","di@example.com"]]]','{"change":"new","reason":null,"span":null,"summary":true}','{}',2,'run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:42.222840Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:13.771775Z','2026-12-01T11:07:01.144234Z',NULL,NULL,NULL,'the newer address',NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-4TM2W9','137cf716af983dad57cae9dad9897219da3f84fe0f7ca16d9633f433dadae2bc','twins','duplicates','customers','cleaned',3,2,'[["email",["t","bob@example.com"]]]','{"change":"new","reason":null,"settled_key":[["email",["t","bob@example.com"]]],"span":null,"summary":true}','{}',2,'run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:42.222840Z','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:42.222840Z','2026-12-01T11:07:07.118989Z',NULL,NULL,'root',NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-FYVK1X','8d0867d1f301957fc530ec9ada71c6413d4e0356e111d5f4578cb7fe8bf104d5','twins','duplicates','customers','dismissed',3,2,'[["email",["t","cy@example.com"]]]','{"change":"new","decided":"dismissed","reason":null,"settled_key":[["email",["t","cy@example.com"]]],"span":null,"summary":true}','{}',2,'run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:42.222840Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:13.771775Z','2026-12-01T11:07:09.273832Z',NULL,NULL,'root','two people',NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-W69S20','7b78eed930f265771e152d5be132faf6a6979eb2cdf4073177837cc6581742c3','twins','duplicates','customers','undone',3,2,'[["email",["t","ada@example.com"]]]','{"change":"new","decided":"undone","not_undone":null,"reason":null,"settled_key":[["email",["t","ada@example.com"]]],"span":null,"summary":true}','{}',2,'run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:42.222840Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:13.771775Z','2026-12-01T11:07:08.531041Z',NULL,NULL,'root',NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-1KF9W9','4de1127e30e667b660741382ba4887787791903f7d29ed11dbff41c013f6f298','persons','duplicates','customers','snoozed',3,1,'[["name",["t","Bob Roe"]]]','{"change":"new","judged":[["@by name",["t","Bob Roe"]]],"links":[[0,1,[1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:45.252046Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:14.531455Z','2026-12-01T11:07:09.983989Z','2999-01-01T00:00:00.000000Z',NULL,'root',NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-8AED7W','c8005c8f81e4564a0d5105828a02754bfad90e2457c46cc11fe28fae37d22bcf','persons','duplicates','customers','open',3,1,'[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','{"change":"new","judged":[["@by phone",["t","+49 5"]],["@by name",["t","Cy Doe"]]],"links":[[0,1,[0,1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:45.252046Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:14.531455Z','2026-12-01T11:06:45.252046Z',NULL,'bob',NULL,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-EMHJYM','0a20151e72ec0d5de32aacb69a026ba5dfc1f33f0f5346f384234164cc8e5357','persons','duplicates','customers','open',3,1,'[["phone",["t","+49 1"]]]','{"change":"new","judged":[["@by phone",["t","+49 1"]]],"links":[[0,1,[0],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:45.252046Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:14.531455Z','2026-12-01T11:06:45.252046Z',NULL,NULL,NULL,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-M295PR','7f80b75f46db68efc66ab0186d2dbc910635a0901d2bbc14b37c8ef5a8df26bd','persons','duplicates','customers','open',3,1,'[["name",["t","Di Poe"]]]','{"change":"new","judged":[["@by name",["t","Di Poe"]]],"links":[[0,1,[1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:45.252046Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:14.531455Z','2026-12-01T11:06:45.252046Z',NULL,NULL,NULL,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-48RB5Z','6cf4c4403c4ad7c3c91ec17679af2587450d5b6e598cbcd95410d74d2cda5a74','paid','reconciliation','orders','open',3,1,'[["id",["t","D"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","D"]],["@form",["t","right_only"]],["@at risk EUR",["n","7.00"]]],"peaks":[["@at risk EUR","7.00"]],"reason":null,"span":null,"summary":true}','{"EUR":"-7.00"}',1,'run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:50.053729Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:16.960263Z','2026-12-01T11:06:50.053729Z',NULL,NULL,NULL,NULL,NULL,NULL,-7.0,NULL);
INSERT INTO "findings" VALUES('F-A43SYH','e6be0250e6a167f7c8a4b4ad09ab4b19c14f2a447611e58d190d68d7865d86e6','paid','reconciliation','orders','handled',3,1,'[["id",["t","C"]]]','{"change":"new","datasets":["orders","charges"],"decided":"handled","decided_money":{"EUR":"30.00"},"differing":[],"form":"left_only","form_reason":null,"judged":[["id",["t","C"]],["@form",["t","left_only"]],["@at risk EUR",["n","30.00"]]],"peaks":[["@at risk EUR","30.00"]],"reason":null,"settled_key":[["id",["t","C"]],["@form",["t","left_only"]],["@at risk EUR",["n","30.00"]]],"span":null,"summary":true}','{"EUR":"30.00"}',1,'run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:50.053729Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:16.960263Z','2026-12-01T11:07:10.702110Z',NULL,NULL,'root','refunded',NULL,NULL,-30.0,NULL);
INSERT INTO "findings" VALUES('F-KVN02Z','fee42b732737579d256fc8949f537ed39d92ff1a01edc2197e881558b1ce26ae','paid','reconciliation','orders','resolved',3,1,'[["id",["t","E"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","E"]],["@form",["t","right_only"]],["@at risk EUR",["n","3.00"]]],"peaks":[["@at risk EUR","3.00"]],"reason":"its records no longer match","span":null,"summary":true}','{"EUR":"3.00"}',1,'run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:50.053729Z','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:50.053729Z','2026-12-01T11:07:16.960263Z',NULL,NULL,NULL,NULL,NULL,NULL,-3.0,NULL);
INSERT INTO "findings" VALUES('F-TQTQPG','cde5ffef6644b8d5fcdc4893c022ea7c19026f894f92051f9cbfb9ce974c9784','paid','reconciliation','orders','open',3,1,'[["id",["t","B"]]]','{"change":"new","datasets":["orders","charges"],"differing":[["total / amount",["n","20.00"],["n","21.50"],"total","amount"]],"form":"mismatch","form_reason":null,"judged":[["id",["t","B"]],["@form",["t","mismatch"]],["@at risk EUR",["n","1.50"]],["@left total",["n","20.00"]],["@right amount",["n","21.50"]]],"peaks":[["@at risk EUR","1.50"],["total / amount","1.50"]],"reason":null,"span":null,"summary":true}','{"EUR":"-1.50"}',2,'run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:50.053729Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:16.960263Z','2026-12-01T11:06:50.053729Z',NULL,NULL,NULL,NULL,NULL,NULL,-1.5,NULL);
INSERT INTO "findings" VALUES('F-AE1F6X','8844f17012983db39e6a72a011555afe8ffcb90c228e74e2b97c86edbbea3889','negative','check','charges','resolved',3,1,'[["id",["t","c4"]],["amount",["n","-3.00"]]]','{"change":"new","form":"condition","judged":[["id",["t","c4"]],["amount",["n","-3.00"]]],"peaks":[["@at risk EUR","3.00"]],"reason":"its records no longer match","span":null,"summary":true}','{"EUR":"-3.00"}',1,'run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:50.757856Z','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:50.757856Z','2026-12-01T11:07:17.535745Z',NULL,NULL,NULL,NULL,NULL,NULL,-3.0,NULL);
INSERT INTO "findings" VALUES('F-CM48J8','d690e314d68d87444246c277eccbe914cee2dd0ae0822749439057d1fa36cd43','paid','reconciliation','orders','open',3,1,'[["id",["t","F"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","F"]],["@form",["t","right_only"]],["@at risk EUR",["n","99.00"]]],"peaks":[["@at risk EUR","99.00"]],"reason":null,"span":null,"summary":false}','{"EUR":"-99.00"}',1,'run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:16.960263Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:16.960263Z','2026-12-01T11:07:16.960263Z',NULL,NULL,NULL,NULL,NULL,NULL,-99.0,NULL);
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
INSERT INTO "leases" VALUES('job:nightly',NULL,2,'2026-12-01T11:07:19.720872Z','2026-12-01T11:07:12.808430Z');
INSERT INTO "leases" VALUES('compaction',NULL,0,'2026-12-02T11:06:56.031710Z','2026-12-01T11:06:56.031710Z');
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
INSERT INTO "limit_uses" VALUES('P-FVGCRFW4DQPI','twins','sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:54.242041Z',1,'{}');
INSERT INTO "limit_uses" VALUES('P-NB43Q6OFVKCW','twins','sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:54.242041Z',1,'{}');
INSERT INTO "limit_uses" VALUES('P-H4ZW6FH2KK5V','twins','sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:18.814868Z',1,'{}');
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
INSERT INTO "limits" VALUES('target:sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db',NULL,NULL,'2026-12-01T11:07:18.814868Z',3,'{}','run1_ydeguoc2fjyuey2n6s43vl2aza',1,'{}');
INSERT INTO "limits" VALUES('rule:twins',NULL,NULL,'2026-12-01T11:07:18.814868Z',3,'{}','run1_ydeguoc2fjyuey2n6s43vl2aza',1,'{}');
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
INSERT INTO "meta" VALUES(1,'st_70ef00c9d3a9d93c04a82f49b77377d6',1,'0022','c95de61a27aecf2e533a4b9726bc6b8f34594604c69e924c847f5ecb929a6669','2026-12-01T11:06:38.243184Z');
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
INSERT INTO "not_same" VALUES('twins','[["n","1"]]','[["n","2"]]','[["email",["t","ada@example.com"]]]','[["email",["t","ada@example.com"]]]','F-W69S20','reconcile','2026-12-01T11:07:08.531041Z',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "not_same" VALUES('twins','[["n","5"]]','[["n","6"]]','[["email",["t","cy@example.com"]]]','[["email",["t","cy@example.com"]]]','F-FYVK1X','root','2026-12-01T11:07:09.273832Z','two people',NULL,NULL,NULL,NULL);
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
INSERT INTO "notified" VALUES('F-A43SYH','team',1,'msg1_d274e083040c222037b03eb2','2026-12-01T11:06:54.942424Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-48RB5Z','team',1,'msg1_d274e083040c222037b03eb2','2026-12-01T11:06:54.942424Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-KVN02Z','team',1,'msg1_d274e083040c222037b03eb2','2026-12-01T11:06:54.942424Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-AE1F6X','team',1,'msg1_d274e083040c222037b03eb2','2026-12-01T11:06:54.942424Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-TQTQPG','team',1,'msg1_d274e083040c222037b03eb2','2026-12-01T11:06:54.942424Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-1KF9W9','team',1,'msg1_d274e083040c222037b03eb2','2026-12-01T11:06:54.942424Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-8AED7W','team',1,'msg1_d274e083040c222037b03eb2','2026-12-01T11:06:54.942424Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-EMHJYM','team',1,'msg1_d274e083040c222037b03eb2','2026-12-01T11:06:54.942424Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-M295PR','team',1,'msg1_d274e083040c222037b03eb2','2026-12-01T11:06:54.942424Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-39MFQP','team',3,'msg1_d274e083040c222037b03eb2','2026-12-01T11:06:54.942424Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-4TM2W9','team',2,'msg1_d274e083040c222037b03eb2','2026-12-01T11:06:54.942424Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-FYVK1X','team',2,'msg1_d274e083040c222037b03eb2','2026-12-01T11:06:54.942424Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-W69S20','team',2,'msg1_d274e083040c222037b03eb2','2026-12-01T11:06:54.942424Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-CM48J8','team',1,'msg1_6d98fd68b0cb0cd39c5e36ca','2026-12-01T11:07:19.354163Z',NULL,NULL,NULL);
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
INSERT INTO "outbox" VALUES('msg1_d274e083040c222037b03eb2','team','nightly','run1_v23uvwbzaqjq2csxqmbbp24d6m','{"id":"msg1_d274e083040c222037b03eb2","job":"nightly","run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","slot":"2026-12-01T11:06:28.416724Z","rules":[{"rule":"twins","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":4,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"persons","severity":"medium","dataset":"customers","new":4,"grown":0,"reopened":0,"known":0,"resolved":0,"records":4,"money":{},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-1KF9W9","state":"new","key":{"name":"Bob Roe"},"keeper":"3","surplus":["4"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-8AED7W","state":"new","key":{"phone":"+49 5","name":"Cy Doe"},"keeper":"5","surplus":["6"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-EMHJYM","state":"new","key":{"phone":"+49 1"},"keeper":"1","surplus":["2"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-M295PR","state":"new","key":{"name":"Di Poe"},"keeper":"7","surplus":["8"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"paid","severity":"medium","dataset":"orders","new":4,"grown":0,"reopened":0,"known":0,"resolved":0,"records":0,"money":{"EUR":"41.50"},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-A43SYH","state":"new","key":{"id":"C"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"30.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"left_only","in_words":"missing in charges","left":["orders C"],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-48RB5Z","state":"new","key":{"id":"D"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"7.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c3"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-KVN02Z","state":"new","key":{"id":"E"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"3.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c4"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-TQTQPG","state":"new","key":{"id":"B"},"keeper":"","surplus":[],"records":2,"money":{"EUR":"1.50"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"mismatch","in_words":"values differ","left":["orders B"],"right":["charges c2"],"differences":[{"column":"total / amount","left":"20.00","right":"21.50","apart":"by 1.50"}],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"reconciliation","datasets":["orders","charges"],"nouns":["discrepancy","discrepancies"],"forms":{"left_only":1,"mismatch":1,"right_only":2},"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"balance":[{"currency":"EUR","left":"60.00","right":"35.50","matched":"0.00","explained":"24.50","not_yet_due":"0","by_form":{"missing in charges":"30.00","missing in orders":"-4.00","values differ":"-1.50"},"not_reported":"0"}],"undecided":0,"first_message":false},{"rule":"negative","severity":"medium","dataset":"charges","new":1,"grown":0,"reopened":0,"known":0,"resolved":0,"records":0,"money":{"EUR":"3.00"},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-AE1F6X","state":"new","key":{"id":"c4","amount":"-3.00"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"3.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"condition","in_words":"amount is less than 0","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":"c4"}],"skipped":[],"kind":"check","datasets":[],"nouns":["failing record","failing records"],"forms":{"condition":1},"in_words":["1 failing record"],"balance":[],"undecided":0,"first_message":false}],"failures":[],"link":null,"test":false,"since":null,"created":"2026-12-01T11:06:54.942424Z","timezone":"UTC","trouble":null,"cleaning":[{"rule":"twins","severity":"medium","dataset":"customers","awaiting":4,"quarantined":0,"failed":0,"cleaned":0,"stale":0,"waiting":0,"money":{},"stopped":null,"undo":null,"findings":[{"finding":"F-39MFQP","state":"awaiting_approval","key":{"email":"di@example.com"},"keeper":"7","surplus":["8"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"7bba6f36a00e6dcf6a10da8bd9b5ef7d6120973cde4d624bf34780cdc1594396","plan_does":"mark 1 record","plan_expires":"2026-12-08T11:06:54.242041Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-4TM2W9","state":"awaiting_approval","key":{"email":"bob@example.com"},"keeper":"3","surplus":["4"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"2b11d2602cb2122a08e124b9d66d43659ca47d12e828d34dc489a4f63c4a6c49","plan_does":"mark 1 record","plan_expires":"2026-12-08T11:06:54.242041Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-FYVK1X","state":"awaiting_approval","key":{"email":"cy@example.com"},"keeper":"5","surplus":["6"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"4a782080f91d34f7f25cb640e5679f4f1d0b4628baa82570de1ba31eea45d4f5","plan_does":"mark 1 record","plan_expires":"2026-12-08T11:06:54.242041Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-W69S20","state":"awaiting_approval","key":{"email":"ada@example.com"},"keeper":"1","surplus":["2"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"710a3572c0a9bb529f026618d4d0024f4fa3c59063f6ca86f21f5e5fd971255c","plan_does":"mark 1 record","plan_expires":"2026-12-08T11:06:54.242041Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"owner":null,"not_undone":0,"next_run":null,"runbook":null,"undone":0,"undos_waiting":0,"expired":0,"void":0,"withdrawn":0,"waits_for":null,"doubt":null,"plans":[]}],"project":null,"escalation":null,"fallback_of":null}',1,'sent',1,'2026-12-01T11:06:54.942424Z','2026-12-01T11:06:54.942424Z','2026-12-04T11:06:54.942424Z',1,NULL,'2026-12-01T11:11:55.613063Z',0,NULL,'{"details":{"notice":"msg1_d274e083040c222037b03eb2"},"where":"file messages.jsonl"}','2026-12-01T11:06:55.746745Z',NULL,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES('msg1_6d98fd68b0cb0cd39c5e36ca','team','nightly','run1_ydeguoc2fjyuey2n6s43vl2aza','{"id":"msg1_6d98fd68b0cb0cd39c5e36ca","job":"nightly","run":"run1_ydeguoc2fjyuey2n6s43vl2aza","slot":"2026-12-01T11:07:12.775697Z","rules":[{"rule":"twins","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":1,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"persons","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":4,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"paid","severity":"medium","dataset":"orders","new":1,"grown":0,"reopened":0,"known":2,"resolved":1,"records":0,"money":{"EUR":"99.00"},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-CM48J8","state":"new","key":{"id":"F"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"99.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c5"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"reconciliation","datasets":["orders","charges"],"nouns":["discrepancy","discrepancies"],"forms":{"right_only":1},"in_words":["1 missing in orders"],"balance":[{"currency":"EUR","left":"60.00","right":"137.50","matched":"0.00","explained":"-77.50","not_yet_due":"0","by_form":{"missing in charges":"30.00","missing in orders":"-106.00","values differ":"-1.50"},"not_reported":"0"}],"undecided":0,"first_message":false},{"rule":"negative","severity":"medium","dataset":"charges","new":0,"grown":0,"reopened":0,"known":0,"resolved":1,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"check","datasets":[],"nouns":["failing record","failing records"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false}],"failures":[],"link":null,"test":false,"since":"2026-12-01T11:06:28.416724Z","created":"2026-12-01T11:07:19.354163Z","timezone":"UTC","trouble":null,"cleaning":[{"rule":"twins","severity":"medium","dataset":"customers","awaiting":0,"quarantined":0,"failed":0,"cleaned":2,"stale":0,"waiting":0,"money":{},"stopped":null,"undo":"reconcile undo F-4TM2W9","findings":[],"owner":null,"not_undone":0,"next_run":null,"runbook":null,"undone":1,"undos_waiting":0,"expired":0,"void":0,"withdrawn":0,"waits_for":null,"doubt":null,"plans":[{"finding":"F-W69S20","what":"cleaned","does":"mark 1 record","why":null},{"finding":"F-4TM2W9","what":"cleaned","does":"mark 1 record","why":null},{"finding":"F-W69S20","what":"undone","does":"","why":null}]}],"project":null,"escalation":null,"fallback_of":null}',1,'sent',1,'2026-12-01T11:07:19.354163Z','2026-12-01T11:07:19.354163Z','2026-12-04T11:07:19.354163Z',1,NULL,'2026-12-01T11:12:19.774396Z',0,NULL,'{"details":{"notice":"msg1_6d98fd68b0cb0cd39c5e36ca"},"where":"file messages.jsonl"}','2026-12-01T11:07:19.926489Z',NULL,NULL,NULL,NULL);
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
INSERT INTO "plans" VALUES('P-2VVJU3WEN4GG','F-39MFQP','twins','customers','shop','sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','set','run1_v23uvwbzaqjq2csxqmbbp24d6m','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','7bba6f36a00e6dcf6a10da8bd9b5ef7d6120973cde4d624bf34780cdc1594396',NULL,'skipped','root chose another keeper','{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","di@example.com"],"id":["i","7"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 7"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","7"]]],"table":"customers"}},{"after":{"merged_into":["i","7"],"status":["t","duplicate"]},"before":{"email":["t","di@example.com"],"id":["i","8"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 8"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","8"]]],"table":"customers"}}],"dataset":"customers","finding":"F-39MFQP","ignore_drift":[],"keeper":"[[\"n\",\"7\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"48e7bb3c233d34a6bf8faa507bc040a44c8ecd459d087e4694b1307a73b70592","generation":1,"record":"[[\"n\",\"8\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"370b8d66736bd6b3b578daada53867e1","source":"shop","table":"customers","target":"sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T11:06:54.242041Z','2026-12-08T11:06:54.242041Z',0,NULL,'2026-12-01T11:06:54.242041Z',0,'2026-12-01T11:06:54.242041Z',NULL,NULL,NULL,'2026-12-01T11:07:01.144234Z');
INSERT INTO "plans" VALUES('P-NB43Q6OFVKCW','F-4TM2W9','twins','customers','shop','sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','set','run1_v23uvwbzaqjq2csxqmbbp24d6m','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','2b11d2602cb2122a08e124b9d66d43659ca47d12e828d34dc489a4f63c4a6c49',NULL,'succeeded',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","bob@example.com"],"id":["i","3"],"merged_into":null,"name":["t","Bob Roe"],"phone":["t","+49 3"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","3"]]],"table":"customers"}},{"after":{"merged_into":["i","3"],"status":["t","duplicate"]},"before":{"email":["t","BOB@example.com"],"id":["i","4"],"merged_into":null,"name":["t","Bob Roe"],"phone":["t","+49 4"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","4"]]],"table":"customers"}}],"dataset":"customers","finding":"F-4TM2W9","ignore_drift":[],"keeper":"[[\"n\",\"3\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"bb934f2a74f99e1a16840b9004f119c79fa675229cd5932963745963b6348c62","generation":1,"record":"[[\"n\",\"4\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"fc36b95760f3f1b047a0d2436efa2a70","source":"shop","table":"customers","target":"sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db","triggers":[],"undoes":null,"why":[]}','[{"after":{"email":["t","BOB@example.com"],"id":["i","4"],"merged_into":["i","3"],"name":["t","Bob Roe"],"phone":["t","+49 4"],"status":["t","duplicate"]}}]','{"approved_within":{"group":5,"money":{},"records":100,"share":"1","source_money":{},"source_records":100},"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T11:06:54.242041Z','2026-12-08T11:06:54.242041Z',1,NULL,'2026-12-01T11:08:06.984129Z',1,'2026-12-01T11:07:05.133421Z',NULL,NULL,'2026-12-01T11:07:06.984129Z','2026-12-01T11:07:07.118989Z');
INSERT INTO "plans" VALUES('P-AY6O2JI3SQJS','F-FYVK1X','twins','customers','shop','sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','set','run1_v23uvwbzaqjq2csxqmbbp24d6m','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','4a782080f91d34f7f25cb640e5679f4f1d0b4628baa82570de1ba31eea45d4f5',NULL,'skipped','dismissed by root','{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","cy@example.com"],"id":["i","5"],"merged_into":null,"name":["t","Cy Doe"],"phone":["t","+49 5"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","5"]]],"table":"customers"}},{"after":{"merged_into":["i","5"],"status":["t","duplicate"]},"before":{"email":["t","cy@example.com"],"id":["i","6"],"merged_into":null,"name":["t","Cy Doe"],"phone":["t","+49 5"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","6"]]],"table":"customers"}}],"dataset":"customers","finding":"F-FYVK1X","ignore_drift":[],"keeper":"[[\"n\",\"5\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"dbb84d0a647545ad8372c6a456772e94e77e3231bb2fc6e0bed6c9a55ae420f4","generation":1,"record":"[[\"n\",\"6\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"dfad83e7fca32f82a386064b21f9f9cc","source":"shop","table":"customers","target":"sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T11:06:54.242041Z','2026-12-08T11:06:54.242041Z',0,NULL,'2026-12-01T11:06:54.242041Z',0,'2026-12-01T11:06:54.242041Z',NULL,NULL,NULL,'2026-12-01T11:07:09.273832Z');
INSERT INTO "plans" VALUES('P-FVGCRFW4DQPI','F-W69S20','twins','customers','shop','sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','set','run1_v23uvwbzaqjq2csxqmbbp24d6m','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','710a3572c0a9bb529f026618d4d0024f4fa3c59063f6ca86f21f5e5fd971255c',NULL,'compensated',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","ada@example.com"],"id":["i","1"],"merged_into":null,"name":["t","Ada Byron"],"phone":["t","+49 1"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","1"]]],"table":"customers"}},{"after":{"merged_into":["i","1"],"status":["t","duplicate"]},"before":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":null,"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","2"]]],"table":"customers"}}],"dataset":"customers","finding":"F-W69S20","ignore_drift":[],"keeper":"[[\"n\",\"1\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"41ecc1f7ec4fe16cda3a7daf12f186037cd55e402964757caee920a387bc2619","generation":1,"record":"[[\"n\",\"2\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"2844cb54f3e4d102f1aed49f6ab2c625","source":"shop","table":"customers","target":"sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db","triggers":[],"undoes":null,"why":[]}','[{"after":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":["i","1"],"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","duplicate"]}}]','{"approved_within":{"group":5,"money":{},"records":100,"share":"1","source_money":{},"source_records":100},"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T11:06:54.242041Z','2026-12-08T11:06:54.242041Z',1,NULL,'2026-12-01T11:08:04.708232Z',1,'2026-12-01T11:07:02.563714Z',NULL,NULL,'2026-12-01T11:07:04.708232Z','2026-12-01T11:07:04.875757Z');
INSERT INTO "plans" VALUES('P-H4ZW6FH2KK5V','F-39MFQP','twins','customers','shop','sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','set',NULL,'d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','d869efb25106e9c7d120b63def2d62a83d0aad636afa5dc473d10c2e4c20804d',NULL,'awaiting_approval',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","di@example.com"],"id":["i","8"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 8"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","8"]]],"table":"customers"}},{"after":{"merged_into":["i","8"],"status":["t","duplicate"]},"before":{"email":["t","di@example.com"],"id":["i","7"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 7"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","7"]]],"table":"customers"}}],"dataset":"customers","finding":"F-39MFQP","ignore_drift":[],"keeper":"[[\"n\",\"8\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"86243337ea7ec24b4f3d24cb35bae8aa8f71827ea13db2809b615462c97d225a","generation":1,"record":"[[\"n\",\"7\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"370b8d66736bd6b3b578daada53867e1","source":"shop","table":"customers","target":"sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T11:07:01.144234Z','2026-12-08T11:07:01.144234Z',0,NULL,'2026-12-01T11:07:01.144234Z',0,'2026-12-01T11:07:01.144234Z',NULL,NULL,NULL,NULL);
INSERT INTO "plans" VALUES('P-B4POUJ75AET2','F-W69S20','twins','customers','shop','sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','undo',NULL,'d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','a327e75e9488300a5e80d1069bf21b8be95490eb592cce32225aedcc81280460','P-FVGCRFW4DQPI','succeeded',NULL,'{"action":"undo","binding":"","catalogue":"","changes":[{"after":{"merged_into":null,"status":["t","new"]},"before":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":["i","1"],"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","duplicate"]},"role":"surplus","row":{"key":[["id",["i","2"]]],"table":"customers"}}],"dataset":"customers","finding":"F-W69S20","ignore_drift":[],"keeper":"[[\"n\",\"1\"]]","money":{},"operations":[{"effect":"set:merged_into,status.undo","fingerprint":"6548be15972b5e83845fa8e9e9cca54bf1862cb6815ec6deaaaa00c0eaba6cf9","generation":1,"record":"[[\"n\",\"2\"]]"}],"origins":{},"references":[],"reversible":"no","rule":"twins","salt":"2844cb54f3e4d102f1aed49f6ab2c625","source":"shop","table":"customers","target":"sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db","triggers":[],"undoes":"P-FVGCRFW4DQPI","why":["an undo cannot be undone; reopen the finding and clean it again"]}','[{"after":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":null,"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","new"]}}]','{"effects":["set:merged_into,status.undo"],"table":"customers"}',1,1,'{}','no','none','root','2026-12-01T11:07:07.591662Z',NULL,1,NULL,'2026-12-01T11:08:08.312095Z',1,'2026-12-01T11:07:07.591662Z',NULL,NULL,'2026-12-01T11:07:08.312095Z','2026-12-01T11:07:08.531041Z');
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
INSERT INTO "record_ids" VALUES('customers','["id"]','["integer"]','2026-12-01T11:06:42.088185Z');
INSERT INTO "record_ids" VALUES('charges','["id"]','["text"]','2026-12-01T11:06:49.983513Z');
INSERT INTO "record_ids" VALUES('orders','["id"]','["text"]','2026-12-01T11:06:49.983513Z');
CREATE TABLE releases (
	hash TEXT NOT NULL, 
	config TEXT NOT NULL, 
	first_seen TEXT NOT NULL, 
	files TEXT, 
	CONSTRAINT pk_releases PRIMARY KEY (hash)
);
INSERT INTO "releases" VALUES('d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','{"channels":{"team":{"path":"messages.jsonl","type":"file"}},"datasets":{"charges":{"id":"id","money":{"amount":"amount","currency":"EUR"},"source":"shop","table":"charges"},"customers":{"id":"id","source":"shop","table":"customers"},"orders":{"id":"id","money":{"amount":"total","currency":"EUR"},"source":"shop","table":"orders"}},"jobs":{"nightly":{"notify":["team"],"rules":"all"}},"rules":{"negative":{"dataset":"charges","kind":"check","where":"amount < 0"},"paid":{"compare":[{"left":"total","right":"amount"}],"key":[{"left":"id","right":"order_id"}],"kind":"reconciliation","left":"orders","right":"charges"},"persons":{"dataset":"customers","key":{"any":[["phone"],["name"]]},"kind":"duplicates","max_share":"100%"},"twins":{"clean":{"action":"set","values":{"merged_into":"{{ keeper.id }}","status":"duplicate"}},"dataset":"customers","keep":[{"first":"id"}],"key":[{"email":["trim","lower"]}],"kind":"duplicates","limits":{"records":"100","share":"100%"},"where":"status <> ''duplicate''"}},"sources":{"shop":{"type":"sql","url":"sqlite:///shop.db"}},"state":"sqlite:///state.db","version":"1"}','2026-12-01T11:06:38.344307Z','[["reconcile.yaml","version: 1\nstate: sqlite:///state.db\nsources:\n  shop:\n    type: sql\n    url: sqlite:///shop.db\ndatasets:\n  customers:\n    source: shop\n    table: customers\n    id: id\n  orders:\n    source: shop\n    table: orders\n    id: id\n    money:\n      amount: total\n      currency: EUR\n  charges:\n    source: shop\n    table: charges\n    id: id\n    money:\n      amount: amount\n      currency: EUR\nrules:\n  twins:\n    kind: duplicates\n    dataset: customers\n    key:\n      - email:\n          - trim\n          - lower\n    where: status <> ''duplicate''\n    keep:\n      - first: id\n    clean:\n      action: set\n      values:\n        status: duplicate\n        merged_into: \"{{ keeper.id }}\"\n    limits:\n      records: 100\n      share: 100%\n  persons:\n    kind: duplicates\n    dataset: customers\n    key:\n      any:\n        - - phone\n        - - name\n    max_share: 100%\n  paid:\n    kind: reconciliation\n    left: orders\n    right: charges\n    key:\n      - left: id\n        right: order_id\n    compare:\n      - left: total\n        right: amount\n  negative:\n    kind: check\n    dataset: charges\n    where: amount < 0\nchannels:\n  team:\n    type: file\n    path: messages.jsonl\njobs:\n  nightly:\n    rules: all\n    notify:\n      - team\n"]]');
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
INSERT INTO "rule_state" VALUES('twins','ba93d1775e063ab3c4bc4a413cc33aa72a6da7aab57eecbfb47647751ad3b112','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:42.222840Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:13.771775Z',NULL,'5f0452332928645f35b00c9ffe304f5b5fafde33fe996e85e494803c529767df');
INSERT INTO "rule_state" VALUES('persons','6697642266c1d209d134050e2dadb193f1f833d07b57586db5fa61b233f7f150','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:45.252046Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:14.531455Z',NULL,NULL);
INSERT INTO "rule_state" VALUES('paid','e010e09295850fb3a848b5a34c9e6cbdc595377a1e8f59793400c4e67934fd2b','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:50.053729Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:16.960263Z',NULL,NULL);
INSERT INTO "rule_state" VALUES('negative','d187f92eafe0ac7cbd360ecd7e021c40e3a128d982fc360e28207b4a51d8fa2b','run1_v23uvwbzaqjq2csxqmbbp24d6m','2026-12-01T11:06:50.757856Z','run1_ydeguoc2fjyuey2n6s43vl2aza','2026-12-01T11:07:17.535745Z',NULL,NULL);
CREATE TABLE run_rules (
	run TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	status TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	finished TEXT NOT NULL, 
	CONSTRAINT pk_run_rules PRIMARY KEY (run, rule), 
	CONSTRAINT fk_run_rules_run FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "run_rules" VALUES('run1_v23uvwbzaqjq2csxqmbbp24d6m','twins','done','{"cleaning":{"binding":"5f0452332928645f35b00c9ffe304f5b5fafde33fe996e85e494803c529767df","cleaned":0,"failed":0,"proposed":4,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":8,"seconds":3.535,"severity":"medium","skipped":[]}','2026-12-01T11:06:54.883667Z');
INSERT INTO "run_rules" VALUES('run1_v23uvwbzaqjq2csxqmbbp24d6m','persons','done','{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":2.558,"severity":"medium","skipped":[]}','2026-12-01T11:06:45.252046Z');
INSERT INTO "run_rules" VALUES('run1_v23uvwbzaqjq2csxqmbbp24d6m','paid','done','{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-4.00"},"currency":"EUR","explained":"24.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"35.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"left_only":1,"mismatch":1,"right_only":2},"groups":4,"groups_before":[],"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"matched":2,"money":{"EUR":"41.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":4.453,"severity":"medium","skipped":[]}','2026-12-01T11:06:50.053729Z');
INSERT INTO "run_rules" VALUES('run1_v23uvwbzaqjq2csxqmbbp24d6m','negative','done','{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":1,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"condition":1},"groups":1,"groups_before":[],"in_words":["1 failing record"],"money":{"EUR":"3.00"},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.592,"severity":"medium","skipped":[]}','2026-12-01T11:06:50.757856Z');
INSERT INTO "run_rules" VALUES('run1_ydeguoc2fjyuey2n6s43vl2aza','twins','done','{"cleaning":{"binding":"5f0452332928645f35b00c9ffe304f5b5fafde33fe996e85e494803c529767df","cleaned":0,"failed":0,"proposed":0,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":1,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":2},"first_run":false,"groups":3,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":7,"seconds":0.666,"severity":"medium","skipped":[]}','2026-12-01T11:07:19.326016Z');
INSERT INTO "run_rules" VALUES('run1_ydeguoc2fjyuey2n6s43vl2aza','persons','done','{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":4,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":0},"first_run":false,"groups":4,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.213,"severity":"medium","skipped":[]}','2026-12-01T11:07:14.531455Z');
INSERT INTO "run_rules" VALUES('run1_ydeguoc2fjyuey2n6s43vl2aza','paid','done','{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-106.00"},"currency":"EUR","explained":"-77.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"137.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":2,"merged":0,"new":1,"reopened":0,"resolved":1,"settled":1},"first_run":false,"forms":{"mismatch":1,"right_only":2},"groups":4,"groups_before":[4],"in_words":["2 missing in orders","1 mismatch"],"matched":2,"money":{"EUR":"107.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":2.317,"severity":"medium","skipped":[]}','2026-12-01T11:07:16.960263Z');
INSERT INTO "run_rules" VALUES('run1_ydeguoc2fjyuey2n6s43vl2aza','negative','done','{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":0,"reopened":0,"resolved":1,"settled":0},"first_run":false,"groups":0,"groups_before":[1],"money":{},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.294,"severity":"medium","skipped":[]}','2026-12-01T11:07:17.535745Z');
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
INSERT INTO "runs" VALUES('run1_v23uvwbzaqjq2csxqmbbp24d6m','nightly','2026-12-01T11:06:28.416724Z','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','manual','succeeded',1,1,'2026-12-01T11:06:38.344307Z','2026-12-01T11:06:54.942424Z','{"attempt":1,"checked":["twins","persons","paid","negative"],"job":"nightly","messages":["msg1_d274e083040c222037b03eb2"],"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":[{"cleaning":{"binding":"5f0452332928645f35b00c9ffe304f5b5fafde33fe996e85e494803c529767df","cleaned":0,"failed":0,"proposed":4,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":8,"seconds":3.535,"severity":"medium","skipped":[]},{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":2.558,"severity":"medium","skipped":[]},{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-4.00"},"currency":"EUR","explained":"24.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"35.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"left_only":1,"mismatch":1,"right_only":2},"groups":4,"groups_before":[],"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"matched":2,"money":{"EUR":"41.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":4.453,"severity":"medium","skipped":[]},{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":1,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"condition":1},"groups":1,"groups_before":[],"in_words":["1 failing record"],"money":{"EUR":"3.00"},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.592,"severity":"medium","skipped":[]}],"run":"run1_v23uvwbzaqjq2csxqmbbp24d6m","slot":"2026-12-01T11:06:28.416724Z","status":"succeeded"}');
INSERT INTO "runs" VALUES('run1_ydeguoc2fjyuey2n6s43vl2aza','nightly','2026-12-01T11:07:12.775697Z','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','manual','succeeded',1,2,'2026-12-01T11:07:12.913778Z','2026-12-01T11:07:19.354163Z','{"attempt":1,"checked":["twins","persons","paid","negative"],"job":"nightly","messages":["msg1_6d98fd68b0cb0cd39c5e36ca"],"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":[{"cleaning":{"binding":"5f0452332928645f35b00c9ffe304f5b5fafde33fe996e85e494803c529767df","cleaned":0,"failed":0,"proposed":0,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":1,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":2},"first_run":false,"groups":3,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":7,"seconds":0.666,"severity":"medium","skipped":[]},{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":4,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":0},"first_run":false,"groups":4,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.213,"severity":"medium","skipped":[]},{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-106.00"},"currency":"EUR","explained":"-77.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"137.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":2,"merged":0,"new":1,"reopened":0,"resolved":1,"settled":1},"first_run":false,"forms":{"mismatch":1,"right_only":2},"groups":4,"groups_before":[4],"in_words":["2 missing in orders","1 mismatch"],"matched":2,"money":{"EUR":"107.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":2.317,"severity":"medium","skipped":[]},{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":0,"reopened":0,"resolved":1,"settled":0},"first_run":false,"groups":0,"groups_before":[1],"money":{},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.294,"severity":"medium","skipped":[]}],"run":"run1_ydeguoc2fjyuey2n6s43vl2aza","slot":"2026-12-01T11:07:12.775697Z","status":"succeeded"}');
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
INSERT INTO "targets" VALUES('sqlite:65024:2146547:/tmp/tmpl2kdj71i/shop.db','shop',3,3,'2026-12-01T11:07:03.437663Z','2026-12-01T11:07:08.060299Z');
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
INSERT INTO "users" VALUES('ada','operator','$argon2id$v=19$m=65536,t=3,p=4$iWYoQcWyKMZOmOlLG8LrgA$1/NZmEtvFRrQu8PdRiRRZFzk1WV68WcbPeKH9Sq4MYA',0,NULL,'2026-12-01T11:07:11.068951Z');
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
CREATE INDEX ix_presses_status_next_at ON presses (status, next_at);
CREATE INDEX ix_presses_received_at ON presses (received_at);
CREATE INDEX ix_keyed_requests_received_at ON keyed_requests (received_at);
CREATE INDEX ix_audit_subject ON audit (subject);
CREATE INDEX ix_attempts_since ON attempts (since);
CREATE INDEX ix_runs_job_status_fence ON runs (job, status, fence);
CREATE INDEX ix_runs_started ON runs (started);
CREATE INDEX ix_runs_job_started ON runs (job, started);
CREATE INDEX ix_audit_bodies_finding ON audit_bodies (finding);
CREATE INDEX ix_audit_bodies_run ON audit_bodies (run);
CREATE INDEX ix_tokens_user ON tokens (user);
CREATE INDEX ix_sessions_user ON sessions (user);
CREATE INDEX ix_sessions_ends_at ON sessions (ends_at);
CREATE INDEX ix_dataset_stats_dataset_rule_at ON dataset_stats (dataset, rule, at);
CREATE INDEX ix_findings_state_probability_first_seen_id ON findings (state, probability, first_seen, id) WHERE probability IS NOT NULL;
CREATE INDEX ix_findings_state_severity_amount_rank_first_seen_id ON findings (state, severity, amount_rank, first_seen, id);
CREATE INDEX ix_findings_fingerprint ON findings (fingerprint);
CREATE INDEX ix_findings_assigned_to ON findings (assigned_to);
CREATE INDEX ix_findings_rule_state_severity_amount_rank_first_seen_id ON findings (rule, state, severity, amount_rank, first_seen, id);
CREATE INDEX ix_anchors_status_next_at ON anchors (status, next_at);
CREATE INDEX ix_outbox_status_next_at ON outbox (status, next_at);
CREATE INDEX ix_outbox_run ON outbox (run);
CREATE INDEX ix_finding_aliases_finding ON finding_aliases (finding);
CREATE INDEX ix_finding_members_record ON finding_members (record);
CREATE INDEX ix_not_same_rule_record_b ON not_same (rule, record_b);
CREATE INDEX ix_not_same_finding ON not_same (finding);
CREATE INDEX ix_plans_rule_state ON plans (rule, state);
CREATE INDEX ix_plans_run ON plans (run);
CREATE INDEX ix_plans_finding ON plans (finding);
CREATE INDEX ix_plans_undoes ON plans (undoes);
CREATE INDEX ix_plans_state_source_next_at_id ON plans (state, source, next_at, id);
CREATE INDEX ix_shown_findings_finding ON shown_findings (finding);
CREATE INDEX ix_effects_record_target_effect ON effects (record, target, effect);
CREATE INDEX ix_effects_plan ON effects ("plan");
CREATE INDEX ix_effects_ended_at ON effects (ended_at);
CREATE INDEX ix_holds_plan ON holds ("plan");
CREATE INDEX ix_approvals_plan_hash ON approvals (plan_hash);
CREATE INDEX ix_limit_uses_target_at ON limit_uses (target, at);
CREATE INDEX ix_limit_uses_run_rule ON limit_uses (run, rule);
CREATE INDEX ix_limit_uses_rule_at ON limit_uses (rule, at);
COMMIT;
