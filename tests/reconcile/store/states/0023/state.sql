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
INSERT INTO "approvals" VALUES('P-NV2LLORGTCHC','root','approved','3b6aee33e9e9e2ca7199680c230e4d726d29c4e63e245c1fead84bae34b309cf','2026-12-02T00:02:13.976515Z',NULL);
INSERT INTO "approvals" VALUES('P-RL4MOR4UKYUW','root','approved','5c013f5f86c961fc7c8760ac9051d52ae5eabd24e028ed9a0e96af309c30c946','2026-12-02T00:02:14.791494Z',NULL);
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
INSERT INTO "audit" VALUES(1,'2026-12-02T00:02:10.118849Z','reconcile','finding.opened','8f0a098ea8c82457dcb82790e4cf58e5946cd34a9304b5f553888815c7d5dc6e','1a05fa11d0a8d733a5eeec83092037e0e45226805f300e0b70fdb5bbfc38cebf','1476a391aaf853ee838df8c1bb1f998e1b64472c185b1456ea4dcb9ae15dc2cb','6934b28c8d0f61407325e6d10b57c9bd9052de9902de6dee1e300910b5385cfe');
INSERT INTO "audit" VALUES(2,'2026-12-02T00:02:10.118849Z','reconcile','finding.opened','4efd10069ccc5df60bf987ad3b02108ec9fb0d6929292b0e128c7c9349e81b2c','6b113062c5625b4fc9e559e9455573aa39082a6e0b7db0b2aedefbd54a9775b4','6934b28c8d0f61407325e6d10b57c9bd9052de9902de6dee1e300910b5385cfe','516d38b0e256a90323cc1d185d3506f7dbe40d14c9ae7f0cc55bb0b50215e518');
INSERT INTO "audit" VALUES(3,'2026-12-02T00:02:10.118849Z','reconcile','finding.opened','b0e374d53364fec782331d68a1306783bb1887285963fc07448c46ee6bded00e','111c8fa19d0f7f9b8d71b4b076e1da32bb995bde71c4aac544b491fee4873102','516d38b0e256a90323cc1d185d3506f7dbe40d14c9ae7f0cc55bb0b50215e518','e86b9c27a731b5915f11f988749c4e08d2b12824f9032dc13cef599f7619b275');
INSERT INTO "audit" VALUES(4,'2026-12-02T00:02:10.118849Z','reconcile','finding.opened','fbe56cf46ffa4a703d73f4ed405e0854b5292174615826f3a03445b54a3b08ae','d785530a8551f8b225617193fe9509a10855e72aee955be78d5ee11f9a55448e','e86b9c27a731b5915f11f988749c4e08d2b12824f9032dc13cef599f7619b275','1c904ca715b4d4096c56e4049fcc68caa89dac75b2a1785ae296f0bcd2f34554');
INSERT INTO "audit" VALUES(5,'2026-12-02T00:02:10.959033Z','reconcile','finding.opened','401f05259a7c6a4756feee873379e9cce47293a78a1261be0f58d96a3a94223e','e786f150ee2609b53251c787b332dd6fac3af665220543be805a87d09704d5cc','1c904ca715b4d4096c56e4049fcc68caa89dac75b2a1785ae296f0bcd2f34554','1a322bb01b3e68a2e77f8bc83c3c2d7e84a0074f697b75758d5c1d89d3b9af4a');
INSERT INTO "audit" VALUES(6,'2026-12-02T00:02:10.959033Z','reconcile','finding.opened','e450bf998a1ec9ceb173110ac1463510fcb859a01d776a3b06f26220ef24656f','560aee1eb90f65f647c78c672fe8a3003cb65684d692dd73193b757c5dc21b38','1a322bb01b3e68a2e77f8bc83c3c2d7e84a0074f697b75758d5c1d89d3b9af4a','e0cdd8495a926c44a55f374f198c39b1f11ca525082d04d2ec1f950257ab07cc');
INSERT INTO "audit" VALUES(7,'2026-12-02T00:02:10.959033Z','reconcile','finding.opened','f509ececf464b9951d2c718bb76cbd81354029fb7e6975c4cb0978d87e447a38','4521f4b2bdbe7025144a8745e47dcb672987c3f0ac66e83271e45514aa547922','e0cdd8495a926c44a55f374f198c39b1f11ca525082d04d2ec1f950257ab07cc','3f50c7c5be8972e7d41b32be30a1a1aed0dd8a793ea85ed20785e2dda9372936');
INSERT INTO "audit" VALUES(8,'2026-12-02T00:02:10.959033Z','reconcile','finding.opened','07f3ee74aa317d695805fe4a1d890eaf3437ac56bd7235ac2bfa834f71378d89','098412300a210760cb8307a71a3a3c46a117cc3359a0f3b4e23bcceea6e59e49','3f50c7c5be8972e7d41b32be30a1a1aed0dd8a793ea85ed20785e2dda9372936','17f4b7f2e05286eeab5b7ca9c892859246869d89055a93f920f872772474f9c8');
INSERT INTO "audit" VALUES(9,'2026-12-02T00:02:11.920136Z','reconcile','finding.opened','97e17990f91fc1e87548e425dc8a0bfd27bf9c0f2e6bd4a16c07658913363be9','1b0eeeb9bd627d8359cd8f6bb1fe372cc37923d4b8d8dd9a158a2f1f80239be4','17f4b7f2e05286eeab5b7ca9c892859246869d89055a93f920f872772474f9c8','4cdc804945ac909e02a52a81efc110985cd73dc0d64912eb9c50f7cdc5544be8');
INSERT INTO "audit" VALUES(10,'2026-12-02T00:02:11.920136Z','reconcile','finding.opened','510e08dbc5bd4cfde54abc4d49cb24a2f5616d023d4aeac8bed445bb56f51558','50adbb0978fdbdc3147fe6b06946bf09f616e4138f589902362892cf233ea4dc','4cdc804945ac909e02a52a81efc110985cd73dc0d64912eb9c50f7cdc5544be8','9ec30db0559fb638d491d4a93b4aa579c0c8a9573f4d81da5695577a921b06aa');
INSERT INTO "audit" VALUES(11,'2026-12-02T00:02:11.920136Z','reconcile','finding.opened','54395bc8fce363d37b993a98d8eedefb55165ad7ed366a90e3b5c0df073444bb','dfb6ded9e1d56a4a3dc96fe269808ca1b5949411a6e1ab8cbfa8a66e0726a3da','9ec30db0559fb638d491d4a93b4aa579c0c8a9573f4d81da5695577a921b06aa','a65fdd9ca73de2c4ba45ff2ca974f47719975198070dbe474d505d86012f5f19');
INSERT INTO "audit" VALUES(12,'2026-12-02T00:02:11.920136Z','reconcile','finding.opened','178bbf485e3922339bda4e0e7b8ce63ef9f7b4b4f029f36886397d6db5fb0d03','9b46c11d28c755879c9f945ecb5175da3a45ed4bb7cc1dad5ed7ce134bb3aae9','a65fdd9ca73de2c4ba45ff2ca974f47719975198070dbe474d505d86012f5f19','edfce0219fcd8eb0681ed0ffaf2d93ce9498e52dcbaf08133f85fa8fe6491e33');
INSERT INTO "audit" VALUES(13,'2026-12-02T00:02:12.155361Z','reconcile','finding.opened','c7ffacc898eb6ba8a05338b804a32bca24146263970c812f267579f8aefb6a7f','b6afb369c5639552418b754857232c52fcc4f8a7d066ce474fb170b8d73003b8','edfce0219fcd8eb0681ed0ffaf2d93ce9498e52dcbaf08133f85fa8fe6491e33','7d37548f89acd14ae233d1264c16b10e2de1baac0e59dab3dd6b825a69814b23');
INSERT INTO "audit" VALUES(14,'2026-12-02T00:02:12.838031Z','reconcile','plan.proposed','2b37e7d7615f9174740a473de353c12db8d0cf63efe47db1f56c13d0385d7b44','48f2adf8efe9736b864a35c9dc40f169682dc98e4c184c3d719569a08d35a08c','7d37548f89acd14ae233d1264c16b10e2de1baac0e59dab3dd6b825a69814b23','db75c63a8128c06339f4e5c40e25d00f08db68943aab9ca6b33b9804c33416f3');
INSERT INTO "audit" VALUES(15,'2026-12-02T00:02:12.838031Z','reconcile','plan.proposed','f1039f9739e2b19a4eada1fe820a8363211161e9427729f16e7d3145448b0218','1c4f76b5140f98443c49ab1e184f3d31f74c17b3b7b96414021ce76aff6992c1','db75c63a8128c06339f4e5c40e25d00f08db68943aab9ca6b33b9804c33416f3','46515661f80a962e59cb39349c1a2b2afcc018cbdb1ddc6858e2d7facf1ae9bf');
INSERT INTO "audit" VALUES(16,'2026-12-02T00:02:12.838031Z','reconcile','plan.proposed','5495786cb622001773e492e9c71e9c317d454bbfad697aa7df07dfb9e1d15835','0fa7d4391eb298204235420acbad9d8ec79dfc5c1edfcce2c9c60c59551a5bbe','46515661f80a962e59cb39349c1a2b2afcc018cbdb1ddc6858e2d7facf1ae9bf','362ae45a8c59a40475e2607f8aae28a1f4cbba8888cf8d3443ff7285499a0a95');
INSERT INTO "audit" VALUES(17,'2026-12-02T00:02:12.838031Z','reconcile','plan.proposed','42a4062828a363c8bb3761481af7ff513330fb0c94c5a5f529639b741236004b','a4ef5ca553b7145679d1ca554ced0a26ca866f969c6fa01e0fad8c57714a6dd4','362ae45a8c59a40475e2607f8aae28a1f4cbba8888cf8d3443ff7285499a0a95','38abfcc56e5db3127b4c433f109624a6a840a020334fdad0c130613b9b3acbbc');
INSERT INTO "audit" VALUES(18,'2026-12-02T00:02:12.953850Z','reconcile','message.queued','862ed1af3d3d4ebc8c296a3ef8de6e9daa80949a6c8b1a9e9207a61e6b12b75e','cbdd3c0908b6f0ea2a35dd12789b628513b7345e18d007b948a9e6f478c9bdae','38abfcc56e5db3127b4c433f109624a6a840a020334fdad0c130613b9b3acbbc','af6434472a40121cf0964169407f61d7949260671c7cfa9a0b187393dec90b4e');
INSERT INTO "audit" VALUES(19,'2026-12-02T00:02:12.953850Z','reconcile','run.finished','962643ed4824170de5330fc8e65ba957a1a31c72455261f9f1df0e228f5fae1a','945aa7cec0f8bf9c8d55efd5c288e2031b9555bfaf7926f19fcdf5c9b7fb1d8d','af6434472a40121cf0964169407f61d7949260671c7cfa9a0b187393dec90b4e','f475a9477f6fb29d010bdebddbd5200d08a523b6db1ca77fa9c384d197f6abe3');
INSERT INTO "audit" VALUES(20,'2026-12-02T00:02:13.016804Z','reconcile','message.sending','862ed1af3d3d4ebc8c296a3ef8de6e9daa80949a6c8b1a9e9207a61e6b12b75e','7434cb092aa926285a64a23358518d090cde2c41a3eb4fb9886d47d30e0e2b99','f475a9477f6fb29d010bdebddbd5200d08a523b6db1ca77fa9c384d197f6abe3','40ec697e6d8f1532a233febb7ccfb65ab3961864596a8dd5c406583193d5822b');
INSERT INTO "audit" VALUES(21,'2026-12-02T00:02:13.024351Z','reconcile','message.sent','862ed1af3d3d4ebc8c296a3ef8de6e9daa80949a6c8b1a9e9207a61e6b12b75e','8f303a2f77a83df24b57e5888e6c783a87289a728f6e403c54e548281cb438b9','40ec697e6d8f1532a233febb7ccfb65ab3961864596a8dd5c406583193d5822b','ffcc025de5c2c9fd5d1a1da6ba450add9c6018b68a2a73c5190cd8e646d89175');
INSERT INTO "audit" VALUES(22,'2026-12-02T00:02:13.802924Z','root','finding.keeper_chosen','b0e374d53364fec782331d68a1306783bb1887285963fc07448c46ee6bded00e','b4b9b4115c3ea1745b207827899fe8ae168d94d2d9134777a0c7d8463dbae458','ffcc025de5c2c9fd5d1a1da6ba450add9c6018b68a2a73c5190cd8e646d89175','24ba1bc10c11e91626aa44f9a4026d491ef41624ab528ee9cffccd1cedf4bd15');
INSERT INTO "audit" VALUES(23,'2026-12-02T00:02:13.802924Z','root','plan.skipped','5495786cb622001773e492e9c71e9c317d454bbfad697aa7df07dfb9e1d15835','055eba4e482f57b60ba9dc9411675aed26a166b4b6e91e6c0595325ba9597bc6','24ba1bc10c11e91626aa44f9a4026d491ef41624ab528ee9cffccd1cedf4bd15','12e8f390645b95f5a781331cc9e622c968b42ce26ad2bf2b1cd6d94ce1cd7574');
INSERT INTO "audit" VALUES(24,'2026-12-02T00:02:13.802924Z','reconcile','plan.proposed','fb37353016edcc0a9d5d300445c6bb714539bd55fcfd3d5cdcb383cb42a67919','3eddf4b16a884177cdc388b4f98aa2b06a3f25addb2c1c4cca1e70f30f458c7f','12e8f390645b95f5a781331cc9e622c968b42ce26ad2bf2b1cd6d94ce1cd7574','05c19ed802e913b64cd1e545d0e880ed34c0b97780dc9def3b2217eea6d7ff2e');
INSERT INTO "audit" VALUES(25,'2026-12-02T00:02:13.976515Z','root','approval.approved','2b37e7d7615f9174740a473de353c12db8d0cf63efe47db1f56c13d0385d7b44','21ceda679a65fbb6cd6deba9957959f7f8ba277386d951e030c663f17c80cd3c','05c19ed802e913b64cd1e545d0e880ed34c0b97780dc9def3b2217eea6d7ff2e','54c9996b9a8ee6ef8ef528d20536c1915ef9dbd79ed6d0a1ad0b9ce7071f91b7');
INSERT INTO "audit" VALUES(26,'2026-12-02T00:02:13.976515Z','root','plan.approved','2b37e7d7615f9174740a473de353c12db8d0cf63efe47db1f56c13d0385d7b44','467665b7b30b957453ee88104a15ea79ebae5eea4abad1eb042323ff44ebd7eb','54c9996b9a8ee6ef8ef528d20536c1915ef9dbd79ed6d0a1ad0b9ce7071f91b7','8c95fc2119abb51583c03a85294dcd658b95d7e8851384460158d5ce5fd098d3');
INSERT INTO "audit" VALUES(27,'2026-12-02T00:02:14.200064Z','reconcile','target.first_seen','b5b62da7e31ba2146cfc17224507f5a2ba4f576c29f5c083e54ed5689b78f9af','c520d40b9e70edc1c29b370cff42f557158203c8706ecaf1baf1ce518d4f1d59','8c95fc2119abb51583c03a85294dcd658b95d7e8851384460158d5ce5fd098d3','7d29ea0d0a5fc784bb6bf86149d9b9d9fd92b3c954c1db7a50feb3f4e8f3112a');
INSERT INTO "audit" VALUES(28,'2026-12-02T00:02:14.643857Z','reconcile','operation.sent','2b37e7d7615f9174740a473de353c12db8d0cf63efe47db1f56c13d0385d7b44','ea67f489089d8064c7947e0a73de3848547a396038dfd5adfa6f575ac6afb210','7d29ea0d0a5fc784bb6bf86149d9b9d9fd92b3c954c1db7a50feb3f4e8f3112a','ce40678112222371db21a7b3b3cb9f84bb1fb84ec66a3130001752c29a3110ea');
INSERT INTO "audit" VALUES(29,'2026-12-02T00:02:14.696531Z','reconcile','operation.succeeded','2b37e7d7615f9174740a473de353c12db8d0cf63efe47db1f56c13d0385d7b44','d22b9dd1138c460b178502c745fbd3539218c3b6e4cef9afabc2063eff935bbb','ce40678112222371db21a7b3b3cb9f84bb1fb84ec66a3130001752c29a3110ea','7fd06d3a6f3dd537fa809ebabed21a531194c23f36f120dae723c45175b2fe0f');
INSERT INTO "audit" VALUES(30,'2026-12-02T00:02:14.791494Z','root','approval.approved','f1039f9739e2b19a4eada1fe820a8363211161e9427729f16e7d3145448b0218','8b91a1f8227ad2b849a740bd5da61efba71bb3d86703072902c0c4b0c554cf83','7fd06d3a6f3dd537fa809ebabed21a531194c23f36f120dae723c45175b2fe0f','9b0bc9e0e14d387f5d4a8ebbdb402c7d236cfb682e2be0e93967bbb05690f010');
INSERT INTO "audit" VALUES(31,'2026-12-02T00:02:14.791494Z','root','plan.approved','f1039f9739e2b19a4eada1fe820a8363211161e9427729f16e7d3145448b0218','d68ea9650faad179325b8785f32e871902b5f56a9bb7d1d5e4b5bbf93b66f8f5','9b0bc9e0e14d387f5d4a8ebbdb402c7d236cfb682e2be0e93967bbb05690f010','6cb24efc087a1ec2504037a4e147e4c396dd08f2b589d7aafdcdb97dc3e0a8e9');
INSERT INTO "audit" VALUES(32,'2026-12-02T00:02:15.315998Z','reconcile','operation.sent','f1039f9739e2b19a4eada1fe820a8363211161e9427729f16e7d3145448b0218','ce64e4402b36481c046a9bec210571dc225e6dc28e1c183528c445c2154aa7ce','6cb24efc087a1ec2504037a4e147e4c396dd08f2b589d7aafdcdb97dc3e0a8e9','3e59cc46160f17c17138345a75483251e72e903fa85243da844d37a465f9b830');
INSERT INTO "audit" VALUES(33,'2026-12-02T00:02:15.335755Z','reconcile','operation.succeeded','f1039f9739e2b19a4eada1fe820a8363211161e9427729f16e7d3145448b0218','5abea6d16842b66b263ddbb41035312eeaba09c558c0b428aad03560ebd6a6d8','3e59cc46160f17c17138345a75483251e72e903fa85243da844d37a465f9b830','679ad55f7088bbb3a5167660cb0e1ad50c262f2f95fd7fc155b0d975eb135ffa');
INSERT INTO "audit" VALUES(34,'2026-12-02T00:02:15.575966Z','root','plan.proposed','9e4d9d0c429614318fe50b063d1645b99b3a96d497d2a6605da78fcd1cd0d982','52ccc724335f8f0a64a449910a32940b1007a69acc2c3d56f76e7fdd5dfd7f26','679ad55f7088bbb3a5167660cb0e1ad50c262f2f95fd7fc155b0d975eb135ffa','05af5747d20c98ecf4a9ee261c32796e6f00d50569e005894c4b70bf85a1a2aa');
INSERT INTO "audit" VALUES(35,'2026-12-02T00:02:15.745101Z','reconcile','operation.sent','9e4d9d0c429614318fe50b063d1645b99b3a96d497d2a6605da78fcd1cd0d982','714b70fc790f699129e489803a9b5531671bc5dbaa450ff6000d5294ba7ab84f','05af5747d20c98ecf4a9ee261c32796e6f00d50569e005894c4b70bf85a1a2aa','36fd620c7f8fa1a4bc8d17d77173a13d262d09aa68afd25ca73ade0c5484d283');
INSERT INTO "audit" VALUES(36,'2026-12-02T00:02:15.788412Z','reconcile','operation.succeeded','9e4d9d0c429614318fe50b063d1645b99b3a96d497d2a6605da78fcd1cd0d982','e850f18cba9be0fd2cf56394f19118bc9b0feaa781936d67168e7baa097e3c6a','36fd620c7f8fa1a4bc8d17d77173a13d262d09aa68afd25ca73ade0c5484d283','2a98a85fc3d6683d1533b5d64307ddd39c78370180b50fed4b031a062038300f');
INSERT INTO "audit" VALUES(37,'2026-12-02T00:02:15.970844Z','root','plan.skipped','42a4062828a363c8bb3761481af7ff513330fb0c94c5a5f529639b741236004b','3bf1ee0094cc0f267617859ca440f157a5a7a062d9c380660c5e16fef75d808a','2a98a85fc3d6683d1533b5d64307ddd39c78370180b50fed4b031a062038300f','fc9c85c664e812bc61d947d42d6c295c124e725d8cee4eba576206438b54d35c');
INSERT INTO "audit" VALUES(38,'2026-12-02T00:02:15.970844Z','root','finding.dismissed','fbe56cf46ffa4a703d73f4ed405e0854b5292174615826f3a03445b54a3b08ae','e042ab18f7f11ee0ceb484d00f432264cbe9edcf4199cfeb069b9fb10c0f1f2c','fc9c85c664e812bc61d947d42d6c295c124e725d8cee4eba576206438b54d35c','2e9381250d2c5af32a4acd9bb533132ae93354942cce9495a311fa948b425ae5');
INSERT INTO "audit" VALUES(39,'2026-12-02T00:02:16.132119Z','root','finding.snoozed','401f05259a7c6a4756feee873379e9cce47293a78a1261be0f58d96a3a94223e','9a17d47404a6b740dddf0c0bfc3796e269d9b733212cb5c0d958b339a413bba9','2e9381250d2c5af32a4acd9bb533132ae93354942cce9495a311fa948b425ae5','16f962c6c14625ba41fb88f68bd71d46701d119deabef3d4ea2d863d1835579c');
INSERT INTO "audit" VALUES(40,'2026-12-02T00:02:16.238500Z','root','finding.assigned','e450bf998a1ec9ceb173110ac1463510fcb859a01d776a3b06f26220ef24656f','1cdd5948cebdec875bf50dff09b253ad3d8dcc6e373feffbf8a53cbc44596c48','16f962c6c14625ba41fb88f68bd71d46701d119deabef3d4ea2d863d1835579c','ca82737131e951531441f6f9e135c252c2b63e9b3aacba6928d9a464c9b38cbb');
INSERT INTO "audit" VALUES(41,'2026-12-02T00:02:16.371916Z','root','finding.handled','178bbf485e3922339bda4e0e7b8ce63ef9f7b4b4f029f36886397d6db5fb0d03','aeb1f38b5b4b85d40bccf2502a06b7bf7cd655dfa58e5fc6b5e5668b468711ed','ca82737131e951531441f6f9e135c252c2b63e9b3aacba6928d9a464c9b38cbb','61fce7214860ed0e2dae686f8ad48fe091866495f2c3d2d0e37ee7dc982baa8d');
INSERT INTO "audit" VALUES(42,'2026-12-02T00:02:16.597208Z','root','user.added','bce236deac5f796aef88fa5fd325b88352d5c31fe98413acc6df94934ef2df08','76b04149c6601c7283a346d945c113abdf56333001ab375b6d47725a332355ea','61fce7214860ed0e2dae686f8ad48fe091866495f2c3d2d0e37ee7dc982baa8d','84f197b179df4afcf0a7e51ca8d5f2a21f3d0fc277421e2dff418dc1537a7f1d');
INSERT INTO "audit" VALUES(43,'2026-12-02T00:02:18.776229Z','reconcile','finding.resolved','97e17990f91fc1e87548e425dc8a0bfd27bf9c0f2e6bd4a16c07658913363be9','ef483715f4206dcf77de383e84fa9b3ef77d27f6addeac04587deba5aef02a02','84f197b179df4afcf0a7e51ca8d5f2a21f3d0fc277421e2dff418dc1537a7f1d','c09a6c6e7571f61e3a46bfa8cb598ddd1fc8b5cf3a2c8977cd44f41c07be5923');
INSERT INTO "audit" VALUES(44,'2026-12-02T00:02:18.776229Z','reconcile','finding.opened','8696af0a1832bf58186560e5954f68fe46a781720299ba98a699f7104959ff89','18b8fd0391fccc781a2008f95f93754885b0ac051052aee2c026fba3396ea549','c09a6c6e7571f61e3a46bfa8cb598ddd1fc8b5cf3a2c8977cd44f41c07be5923','a6096cdb334f2909a6d95311ad0f938a8d374799d8b0128c1e5fa6580083e860');
INSERT INTO "audit" VALUES(45,'2026-12-02T00:02:19.002690Z','reconcile','finding.resolved','c7ffacc898eb6ba8a05338b804a32bca24146263970c812f267579f8aefb6a7f','7b518d09a948cc8983d9d04d5330328807be9272276f2d3b693f3eb64daf194a','a6096cdb334f2909a6d95311ad0f938a8d374799d8b0128c1e5fa6580083e860','2f4fa1a8d6e74bb47e5c66c936322d3f623d867b8e2c1b1cea97cf127dfeb108');
INSERT INTO "audit" VALUES(46,'2026-12-02T00:02:19.526449Z','reconcile','state.changed','f65fca5d333ec924422bf49f31ffbffa2a84c3492b63c95723568b8e4de5e668','ace15e8958d8265267f8bbc50ca6d2ede28fe03f41c8c77899ed8f4b135b1be0','2f4fa1a8d6e74bb47e5c66c936322d3f623d867b8e2c1b1cea97cf127dfeb108','4801006dbf7ffd236cc7d8f41970a4ed0873f1c14487025a8ca18f46fcad9b9f');
INSERT INTO "audit" VALUES(47,'2026-12-02T00:02:19.640375Z','reconcile','message.queued','cd659f01407ab17ab7eae3b907488cfe7c4cd62a3f751d00a6c97456294ed927','12c2003adacf1c872fde370d38701e06648d1318dedbb0ab5fb9d19c209b8e38','4801006dbf7ffd236cc7d8f41970a4ed0873f1c14487025a8ca18f46fcad9b9f','0749d08354edcdeeccee55f8b5c40b5978f6ef47e1355acddadc3b3b4cb73c7b');
INSERT INTO "audit" VALUES(48,'2026-12-02T00:02:19.640375Z','reconcile','run.finished','5d7fa1fbeffc7cd0c18d752a5b49d93ddb457f3a6b6fe78e4840df579ef9d40d','97925feec7994d52055b7a5863836a1baa99a7e5605fbb41a431cc585538eb18','0749d08354edcdeeccee55f8b5c40b5978f6ef47e1355acddadc3b3b4cb73c7b','53bcc9a180d5fd890788399e0a7ab9d71a64f9243d3e568a015205c19788dac6');
INSERT INTO "audit" VALUES(49,'2026-12-02T00:02:19.704164Z','reconcile','message.sending','cd659f01407ab17ab7eae3b907488cfe7c4cd62a3f751d00a6c97456294ed927','8f109420aaebbdc18e0e582ec0ae0b19ea7f168f2544591796ca7745e295a952','53bcc9a180d5fd890788399e0a7ab9d71a64f9243d3e568a015205c19788dac6','bce78de926c8615662e099da98b4df130b9ad02b043d7a3c6e7944a0d09b0a9c');
INSERT INTO "audit" VALUES(50,'2026-12-02T00:02:19.718023Z','reconcile','message.sent','cd659f01407ab17ab7eae3b907488cfe7c4cd62a3f751d00a6c97456294ed927','7b6b406f555cea91929337dc3685dc6bc902ad913e6c5bad23e50940ec881889','bce78de926c8615662e099da98b4df130b9ad02b043d7a3c6e7944a0d09b0a9c','81a485ce977e41f12066b5c80667f98dbee1aa5e0ab42758ac82eec1be19c52e');
CREATE TABLE audit_bodies (
	seq BIGINT NOT NULL, 
	salt TEXT NOT NULL, 
	body TEXT NOT NULL, 
	finding TEXT, 
	run TEXT, 
	CONSTRAINT pk_audit_bodies PRIMARY KEY (seq), 
	CONSTRAINT fk_audit_bodies_seq FOREIGN KEY(seq) REFERENCES audit (seq)
);
INSERT INTO "audit_bodies" VALUES(1,'2999afa2b6a323266dd0220f956851d87b84c4aa74f2082870a23141d7a37351','{"facts":[["finding","F-3XGRZ2",null,"d90e464354e429a5aa7ab3562310e220"],["rule","twins",null,"dfebde53e527097b424a1bd17b490d36"]],"finding":"F-3XGRZ2","from":null,"records":2,"rule":"twins","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"open","version":1}','F-3XGRZ2','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(2,'a8dc10691224bbcb76946bd74f59bb23db9902c27b340e1dac8834f233172d20','{"facts":[["finding","F-NZ5BG0",null,"99d0e79b5563283f0965aa5beb5f630c"]],"finding":"F-NZ5BG0","from":null,"records":2,"rule":"twins","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"open","version":1}','F-NZ5BG0','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(3,'05d143bad7259f4a0bc38296d254210e058db33b48d2b30cecda6353bad7a169','{"facts":[["finding","F-P79CFV",null,"6dc7e07c594bfa023aa11861c976d7a0"]],"finding":"F-P79CFV","from":null,"records":2,"rule":"twins","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"open","version":1}','F-P79CFV','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(4,'a8175028e33f2c923cc7f92edf6dd6a6b19c8b28c26bac4f9a6d608e694b4f33','{"facts":[["finding","F-YNKMJV",null,"21c3b2f587b64addc4ec9b871271bc36"]],"finding":"F-YNKMJV","from":null,"records":2,"rule":"twins","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"open","version":1}','F-YNKMJV','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(5,'b5b9735e7f476ceea02866d4fcf101f8a5c4fdb6b85c1781402d5ccfb14b1808','{"facts":[["finding","F-04RT7S",null,"7c54d4952c211798e9555772ac43c640"],["rule","persons",null,"ad477e55863022644a51f5a4aa8f24f2"]],"finding":"F-04RT7S","from":null,"records":2,"rule":"persons","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"open","version":1}','F-04RT7S','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(6,'a4aac760947a9f6511a2faceb18de3a21b4101909091818b33410ed8ee43bfcb','{"facts":[["finding","F-0EYFCV",null,"c69965fcdd52131513ea09ec4a95b625"]],"finding":"F-0EYFCV","from":null,"records":2,"rule":"persons","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"open","version":1}','F-0EYFCV','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(7,'398a549560241e060e7f5f7ec2b9acca100bbdf09d15453356183a20a5da1e1a','{"facts":[["finding","F-AABXPX",null,"a7544c762dc076c894be5f3a6e1de3a8"]],"finding":"F-AABXPX","from":null,"records":2,"rule":"persons","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"open","version":1}','F-AABXPX','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(8,'93bd31129a780ea88cffa91349a3eb54cdeb8fbbc9d01b2b28f2d71015290361','{"facts":[["finding","F-N9JGSN",null,"2058fab1b1b25f8488f09fa23bb67fa5"]],"finding":"F-N9JGSN","from":null,"records":2,"rule":"persons","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"open","version":1}','F-N9JGSN','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(9,'f4a65c801923f6567abf7e09ed2a53fed646a47a5e5618b82524d941a473c46e','{"facts":[["finding","F-4ECRFP",null,"02460dac6d8c7ba7004be2a553305d88"],["rule","paid",null,"c1501d2d8479418729ccb3daa566e209"]],"finding":"F-4ECRFP","from":null,"records":1,"rule":"paid","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"open","version":1}','F-4ECRFP','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(10,'cffe5a57fd3f1775ebe1a663e235bc4d6b991e68a59ff57ab6ace7f0388224bd','{"facts":[["finding","F-HRCEP2",null,"d519186fb66d0a4485d43715809ce277"]],"finding":"F-HRCEP2","from":null,"records":2,"rule":"paid","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"open","version":1}','F-HRCEP2','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(11,'ef866098230d585513435d3c7d8c665dd59ad7056638c3eeda206340706a68c8','{"facts":[["finding","F-SRYJ9R",null,"468ce2bc566c77ac8af945ba7f8a1802"]],"finding":"F-SRYJ9R","from":null,"records":1,"rule":"paid","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"open","version":1}','F-SRYJ9R','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(12,'0b6d6954a1c4a3e038316d6fd6d4dcf038e94596b74cdedece6e3fbca6f1ee59','{"facts":[["finding","F-WFFCT6",null,"5df91ed328e73055fc5c4de213d0328a"]],"finding":"F-WFFCT6","from":null,"records":1,"rule":"paid","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"open","version":1}','F-WFFCT6','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(13,'1468b7905ef6914eb30d9eba179d515c731aafb465d83b2949de96723c328daa','{"facts":[["finding","F-YFWMD3",null,"2669312ed7e3a35062e081e59f507e93"],["rule","negative",null,"ef0a1a218131658a891558ff1a594961"]],"finding":"F-YFWMD3","from":null,"records":1,"rule":"negative","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"open","version":1}','F-YFWMD3','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(14,'08477cc8d5f24a17c84ef310b616aa3dd721805529486e3960f6eae6f7c0ea3a','{"action":"set","also":[["finding","F-3XGRZ2","open","awaiting_approval"]],"facts":[["finding","F-3XGRZ2","d90e464354e429a5aa7ab3562310e220","48c4ae12bd1f1dd5af7a47f1710b45fa"],["plan","P-NV2LLORGTCHC",null,"ad60549f7f052a74ebd49efb82ad5655"],["limits","rule:twins",null,"9f1a602ecf8a1e14890e39ac01f21f63"],["limits","target:sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db",null,"d0649dd4cfc531433dae3e037f094ec9"]],"finding":"F-3XGRZ2","from":null,"plan":"P-NV2LLORGTCHC","plan_hash":"3b6aee33e9e9e2ca7199680c230e4d726d29c4e63e245c1fead84bae34b309cf","policy":"required","records":1,"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rows":1,"run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-3XGRZ2','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(15,'f789225f32b1574b267141b7c5d19c24d57d89e30c0bd728697d45fddd3b3a19','{"action":"set","also":[["finding","F-NZ5BG0","open","awaiting_approval"]],"facts":[["finding","F-NZ5BG0","99d0e79b5563283f0965aa5beb5f630c","1c22ad96b4938cc1a7111b0be6764500"],["plan","P-RL4MOR4UKYUW",null,"bd5d73b1e174667f8f29f69d3d0e305f"]],"finding":"F-NZ5BG0","from":null,"plan":"P-RL4MOR4UKYUW","plan_hash":"5c013f5f86c961fc7c8760ac9051d52ae5eabd24e028ed9a0e96af309c30c946","policy":"required","records":1,"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rows":1,"run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-NZ5BG0','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(16,'f3f5146922ae1d6900583e5e216b867dd893b471e5954e5d3d2b13fbd2bf33c5','{"action":"set","also":[["finding","F-P79CFV","open","awaiting_approval"]],"facts":[["finding","F-P79CFV","6dc7e07c594bfa023aa11861c976d7a0","5cad1843473b5a95a248af534c005605"],["plan","P-LIJOESB4TVZP",null,"760caf5e493b7a919119221a44a6ea14"]],"finding":"F-P79CFV","from":null,"plan":"P-LIJOESB4TVZP","plan_hash":"1fcc988cec443e55e3f637a88476faa0b6d457e1a2bcfc85e86d107f96307420","policy":"required","records":1,"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rows":1,"run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-P79CFV','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(17,'2494c43aaf713d081babd291a661ee447f5b4217164afe1f9eba08fc50f72d3f','{"action":"set","also":[["finding","F-YNKMJV","open","awaiting_approval"]],"facts":[["finding","F-YNKMJV","21c3b2f587b64addc4ec9b871271bc36","cec36383973f19d0e073c1433fb99816"],["plan","P-FCBFBPSVDMRT",null,"ba65d0326983a6b5cabed0aada0b1d61"]],"finding":"F-YNKMJV","from":null,"plan":"P-FCBFBPSVDMRT","plan_hash":"ec51dc1bcc4779a9994b1a2060f8a7b76a8e2db223d01c4fe025a70e864620f4","policy":"required","records":1,"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rows":1,"run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-YNKMJV','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(18,'5159fe9e326db07399c529951900e4808d49e27de0289bbac5df3c4110c889b4','{"channel":"team","facts":[["rule","twins","dfebde53e527097b424a1bd17b490d36","05efa92d49e3905ad94ed6393af7d335"]],"message":"msg1_552ea3b1d4d11fd491f9c4fe","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq"}',NULL,'run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(19,'c50abb4c86b2df3e48ceaec42d217b1ddd9a5606aa32e265ae99169726d34e29','{"attempt":1,"failed":[],"job":"nightly","release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rules":["twins","persons","paid","negative"],"run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","slot":"2026-12-02T00:02:07.740395Z","started":"2026-12-02T00:02:09.364367Z","status":"succeeded","trigger":"manual"}',NULL,'run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(20,'8e609d7cc60a981a1630e3886cd01dbbc4620858e525f4b6736833cea409977d','{"attempt":1,"channel":"team","message":"msg1_552ea3b1d4d11fd491f9c4fe","outcome_unknown":false,"run":"run1_ytxsbsio4nt3lzlysikyk6nxeq"}',NULL,'run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(21,'14dcb467a879fe23881a7f656f5dabea4ae9b0fc54bd561a69ee47d39f525bf0','{"attempt":1,"channel":"team","found":false,"message":"msg1_552ea3b1d4d11fd491f9c4fe","receipt":{"details":{"notice":"msg1_552ea3b1d4d11fd491f9c4fe"},"where":"file messages.jsonl"},"run":"run1_ytxsbsio4nt3lzlysikyk6nxeq"}',NULL,'run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(22,'7529ed790793b67cd2111f087bb61f7dd2718a974eee39db01b910c2c2158dd2','{"facts":[["finding","F-P79CFV","5cad1843473b5a95a248af534c005605","28130a0967881e8e2451c18d76c7aa8b"],["limits","rule:twins","9f1a602ecf8a1e14890e39ac01f21f63","9563a4dad3cdbdbd545d02dff8add50f"],["limits","target:sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db","d0649dd4cfc531433dae3e037f094ec9","c3f5207bc2f6e44aac4723f174927b14"]],"finding":"F-P79CFV","note":"the newer address","record":"7c85f55d6c71c76695119d3c281484d9","records":2,"rule":"twins","version":3}','F-P79CFV',NULL);
INSERT INTO "audit_bodies" VALUES(23,'7dab7d0ab2455525c8600fcf077977030606e79f33c8c6238573956ed6f9068d','{"facts":[["plan","P-LIJOESB4TVZP","760caf5e493b7a919119221a44a6ea14","4b56f657cb08172d07dcf4781a41696e"]],"fence":0,"finding":"F-P79CFV","from":"awaiting_approval","plan":"P-LIJOESB4TVZP","reason":"root chose another keeper","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"skipped"}','F-P79CFV','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(24,'d1d6670b41609a130fdd9906eea908f4b9c1a1c754e0ef065d896fe8cf1b4cd6','{"action":"set","facts":[["plan","P-FW37ONHGVRSK",null,"659cccfacdb933901f0102e4db842fbd"]],"finding":"F-P79CFV","from":null,"plan":"P-FW37ONHGVRSK","plan_hash":"ca3515d674940a8bd545bfabf0471e7a95abfd9b24d33ea6c6c8243fb9ccafe4","policy":"required","records":1,"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rows":1,"run":null,"to":"awaiting_approval","undoes":null}','F-P79CFV',NULL);
INSERT INTO "audit_bodies" VALUES(25,'8d9953a10a49bff93a088736a020e4e892f09fa9c2ffed55a0edb141aaec694d','{"by":"root","decision":"approved","facts":[["finding","F-3XGRZ2","48c4ae12bd1f1dd5af7a47f1710b45fa","39329fe6c357818b39315216cdc9191f"],["plan","P-NV2LLORGTCHC","ad60549f7f052a74ebd49efb82ad5655","fbae6add151987bd2ebd31a998ffcd0b"]],"finding":"F-3XGRZ2","plan":"P-NV2LLORGTCHC","plan_hash":"3b6aee33e9e9e2ca7199680c230e4d726d29c4e63e245c1fead84bae34b309cf","system":"root@vm","was":null}','F-3XGRZ2',NULL);
INSERT INTO "audit_bodies" VALUES(26,'dd7c29ce3d4dcb5d267867ee6a160d26adcec68dbd472be8a775678f3466c3bb','{"also":[["finding","F-3XGRZ2","awaiting_approval","approved"]],"fence":0,"finding":"F-3XGRZ2","from":"awaiting_approval","plan":"P-NV2LLORGTCHC","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","story":"finding.approved","to":"approved"}','F-3XGRZ2','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(27,'d00f83ea8f4516c815878b2a4adcc3935cff8c7f66d630e0bae47c84b57d087b','{"source":"shop","target":"sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db"}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(28,'6615dcc54453ee4bc1286827be7ac1eb1e5ec0cbc1927b5fe11f576d6a963153','{"also":[["finding","F-3XGRZ2","approved","cleaning"]],"attempt":1,"facts":[["plan","P-NV2LLORGTCHC","fbae6add151987bd2ebd31a998ffcd0b","683aa47bf9503dc79eb9d78885f91c9b"]],"fence":1,"finding":"F-3XGRZ2","from":"approved","keys":["rk1.hfrghd.z2vrsjvywnwo3wvwru56v2ep3u2i7a6qmc4wdkmsidjf7xa7lsyq"],"plan":"P-NV2LLORGTCHC","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","story":"finding.cleaning","to":"sent"}','F-3XGRZ2','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(29,'b6d90b202ed394199a9b943c8294564ed6d4790ea838e674116c6bf291ff7cb6','{"also":[["finding","F-3XGRZ2","cleaning","cleaned"]],"facts":[["finding","F-3XGRZ2","39329fe6c357818b39315216cdc9191f","7b597282106fa4ee42bd13fb11bda557"],["plan","P-NV2LLORGTCHC","683aa47bf9503dc79eb9d78885f91c9b","acbd5932838f04e3ef7ce44ccb51500e"]],"fence":1,"finding":"F-3XGRZ2","from":"sent","plan":"P-NV2LLORGTCHC","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","story":"finding.cleaned","to":"succeeded"}','F-3XGRZ2','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(30,'d40742bdda345d33e3c1f1b7317704e4ec581dde5c58e8dfaa1ff020fe2e3b75','{"by":"root","decision":"approved","facts":[["finding","F-NZ5BG0","1c22ad96b4938cc1a7111b0be6764500","2a64097794657fb44abb5c12c3117d38"],["plan","P-RL4MOR4UKYUW","bd5d73b1e174667f8f29f69d3d0e305f","67d320604a4b320f56cd8fe19eca43df"]],"finding":"F-NZ5BG0","plan":"P-RL4MOR4UKYUW","plan_hash":"5c013f5f86c961fc7c8760ac9051d52ae5eabd24e028ed9a0e96af309c30c946","system":"root@vm","was":null}','F-NZ5BG0',NULL);
INSERT INTO "audit_bodies" VALUES(31,'bbc7d7005bdeda24a9bb8c4164df969d71df2a891e5aa9c9752deded97399ae0','{"also":[["finding","F-NZ5BG0","awaiting_approval","approved"]],"fence":0,"finding":"F-NZ5BG0","from":"awaiting_approval","plan":"P-RL4MOR4UKYUW","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","story":"finding.approved","to":"approved"}','F-NZ5BG0','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(32,'fa074645bab70a602426fa87f7a828bfae8f2be46f9035a2bad93e5697b9ecb0','{"also":[["finding","F-NZ5BG0","approved","cleaning"]],"attempt":1,"facts":[["plan","P-RL4MOR4UKYUW","67d320604a4b320f56cd8fe19eca43df","1c07c822249f995d1e37d4a075c7a28c"]],"fence":1,"finding":"F-NZ5BG0","from":"approved","keys":["rk1.hfrghd.gm2ykljea7vos63shqqmd7ekazkwefmakr4rzxoanpm5bmd4wvmq"],"plan":"P-RL4MOR4UKYUW","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","story":"finding.cleaning","to":"sent"}','F-NZ5BG0','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(33,'93959bba3ae790e96917fdd117c4e78a0315cf5e142ed767a4614630d812e1fb','{"also":[["finding","F-NZ5BG0","cleaning","cleaned"]],"facts":[["finding","F-NZ5BG0","2a64097794657fb44abb5c12c3117d38","7c0ef8ef1dba4e70b0b30d7c204869f3"],["plan","P-RL4MOR4UKYUW","1c07c822249f995d1e37d4a075c7a28c","71a8477ad371d989b33e1e5ae589d91c"]],"fence":1,"finding":"F-NZ5BG0","from":"sent","plan":"P-RL4MOR4UKYUW","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","story":"finding.cleaned","to":"succeeded"}','F-NZ5BG0','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(34,'b2b3948ad2e8ef06e24c0300da9ed7cf1a778cb58eb254fd904640b7e5d3ad94','{"action":"undo","facts":[["plan","P-LD3TL6QMCEQX",null,"f778db36c0df4d201429a7074e108f4b"]],"finding":"F-3XGRZ2","from":null,"plan":"P-LD3TL6QMCEQX","plan_hash":"4a33caeb6e823b616a629ce364c9258f64c1a03e1f40712a4a4d77011cbe3f85","policy":"none","records":1,"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rows":1,"run":null,"to":"approved","undoes":"P-NV2LLORGTCHC"}','F-3XGRZ2',NULL);
INSERT INTO "audit_bodies" VALUES(35,'9d37689eb3fc9f3586a8ed25d0552a8c7104f95e728a33723ee9c296c6fb2733','{"also":[["plan","P-NV2LLORGTCHC","succeeded","compensating"]],"attempt":1,"facts":[["plan","P-LD3TL6QMCEQX","f778db36c0df4d201429a7074e108f4b","4f7d74bebbb780aa00897267d902c936"]],"fence":1,"finding":"F-3XGRZ2","from":"approved","keys":["rk1.hfrghd.fdcuujundeo77oikwq4ttztff3wlkgjss5wanacmqbakig6r6w6q"],"plan":"P-LD3TL6QMCEQX","run":null,"to":"sent"}','F-3XGRZ2',NULL);
INSERT INTO "audit_bodies" VALUES(36,'1469524bc7ba078c8084958e9e1f1430c07f3216877f40d90f2a97c9c0c53408','{"also":[["plan","P-NV2LLORGTCHC","compensating","compensated"],["finding","F-3XGRZ2","cleaned","undone"]],"facts":[["finding","F-3XGRZ2","7b597282106fa4ee42bd13fb11bda557","3e0ecededd5b1bc87f5c43b5d52ff31a"],["plan","P-LD3TL6QMCEQX","4f7d74bebbb780aa00897267d902c936","096461b0610891b26a3834646fad9600"]],"fence":1,"finding":"F-3XGRZ2","from":"sent","plan":"P-LD3TL6QMCEQX","run":null,"story":"finding.undone","to":"succeeded"}','F-3XGRZ2',NULL);
INSERT INTO "audit_bodies" VALUES(37,'616896b612bb9e10ed4407d05cfe37a9b4b6ad5162edf64f2a3df4dcaf8fdf1d','{"facts":[["finding","F-YNKMJV","cec36383973f19d0e073c1433fb99816","168a5821ed6c4c9b1794689a53fc9a3b"],["plan","P-FCBFBPSVDMRT","ba65d0326983a6b5cabed0aada0b1d61","8889141daf5fe2816f6e7d8fb7a31a26"],["limits","rule:twins","9563a4dad3cdbdbd545d02dff8add50f","fc671219398842f07574dcb3da79d57e"],["limits","target:sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db","c3f5207bc2f6e44aac4723f174927b14","2739347fa1fa0ce6aa789e7899a59dd8"]],"fence":0,"finding":"F-YNKMJV","from":"awaiting_approval","plan":"P-FCBFBPSVDMRT","reason":"dismissed by root","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","to":"skipped"}','F-YNKMJV','run1_ytxsbsio4nt3lzlysikyk6nxeq');
INSERT INTO "audit_bodies" VALUES(38,'3e33a4800eed596881139ff5544e087894db2fc9c44af97a9a01cd55d8b20e49','{"finding":"F-YNKMJV","from":"awaiting_approval","note":"two people","pairs":1,"records":2,"rule":"twins","to":"dismissed","version":2}','F-YNKMJV',NULL);
INSERT INTO "audit_bodies" VALUES(39,'72fe9e2b049f16868363f0d6893b0147185f8221af0c7a785ae4320856bf2c95','{"facts":[["finding","F-04RT7S","7c54d4952c211798e9555772ac43c640","9395eb96bfeec1e8da4315eacc31165b"]],"finding":"F-04RT7S","from":"open","records":2,"rule":"persons","to":"snoozed","until":"2999-01-01 00:00 UTC","version":1}','F-04RT7S',NULL);
INSERT INTO "audit_bodies" VALUES(40,'4aeb1d3553ccae7fd82573d13eaefa318a3bc2bd32f684566d51f8feaf5a8429','{"facts":[["finding","F-0EYFCV","c69965fcdd52131513ea09ec4a95b625","1e7361a16be12db78066b45855b20b9a"]],"finding":"F-0EYFCV","rule":"persons","whom":"bob"}','F-0EYFCV',NULL);
INSERT INTO "audit_bodies" VALUES(41,'b4091baab4ed1dc898268dfe83fdb8ba81ca0fae07187e2ec4482db8133cdc3c','{"facts":[["finding","F-WFFCT6","5df91ed328e73055fc5c4de213d0328a","a8b508bd46a6c0f00ca22bbd9fb6353c"]],"finding":"F-WFFCT6","from":"open","note":"refunded","pairs":0,"records":1,"rule":"paid","to":"handled","version":1}','F-WFFCT6',NULL);
INSERT INTO "audit_bodies" VALUES(42,'0b61e890fdb5824f8124be64fcf2f46422334063fb8e4ca7900b1fa4282ad2bf','{"facts":[["user","ada",null,"089ac08eba796855405182cd5b9e71bf"]],"role":"operator","sees_personal":false,"user":"ada"}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(43,'3dd3e3db116063d09f35ea190ec4915b9d1b243157763d0f0b11ed2c1e2fc973','{"facts":[["finding","F-4ECRFP","02460dac6d8c7ba7004be2a553305d88","fb799f2bd0c87c8332cdb5aca7078303"]],"finding":"F-4ECRFP","from":"open","records":1,"rule":"paid","run":"run1_sxahg67qkueqfr3onvbzsym5ca","to":"resolved","version":1,"why":"its records no longer match"}','F-4ECRFP','run1_sxahg67qkueqfr3onvbzsym5ca');
INSERT INTO "audit_bodies" VALUES(44,'c30f44f1f28c51ff1be8096b23a5d37826bc012f3b5b31e98a69b19ba7ddcb43','{"facts":[["finding","F-KWK6CT",null,"d3e9f4f541f6a384df5d29c750b78d24"]],"finding":"F-KWK6CT","from":null,"records":1,"rule":"paid","run":"run1_sxahg67qkueqfr3onvbzsym5ca","to":"open","version":1}','F-KWK6CT','run1_sxahg67qkueqfr3onvbzsym5ca');
INSERT INTO "audit_bodies" VALUES(45,'1c9a2e127bca30cb2058a3c23770bc9bf65ed64b689db9a10f20187af90c85f4','{"facts":[["finding","F-YFWMD3","2669312ed7e3a35062e081e59f507e93","a57540e08f3b67a5b66507b9e21dc114"]],"finding":"F-YFWMD3","from":"open","records":1,"rule":"negative","run":"run1_sxahg67qkueqfr3onvbzsym5ca","to":"resolved","version":1,"why":"its records no longer match"}','F-YFWMD3','run1_sxahg67qkueqfr3onvbzsym5ca');
INSERT INTO "audit_bodies" VALUES(46,'c81df55230d3d72b5d2893ad28db6114f7ccb32f055878285c58cf17fe355b7b','{"facts":[["limits","rule:twins","fc671219398842f07574dcb3da79d57e","2693efd44134c90f9dadb9a0b02d7715"],["limits","target:sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db","2739347fa1fa0ce6aa789e7899a59dd8","03e63dffe464c0805b7de602f971f1f9"],["plan","P-FW37ONHGVRSK","659cccfacdb933901f0102e4db842fbd","4538202840b984ad03477fe76bbb65ec"]]}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(47,'e40b677ba28f93d2a8261711d5322a080832dd9f5a7e9f5f247b0e15d38cf312','{"channel":"team","message":"msg1_b275956d55a4470808a33dc1","run":"run1_sxahg67qkueqfr3onvbzsym5ca"}',NULL,'run1_sxahg67qkueqfr3onvbzsym5ca');
INSERT INTO "audit_bodies" VALUES(48,'507cee1a5ff2891d2a46c18ed80b19ef1a93fc78029cf12f397db56f173dc976','{"attempt":1,"failed":[],"job":"nightly","release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rules":["twins","persons","paid","negative"],"run":"run1_sxahg67qkueqfr3onvbzsym5ca","slot":"2026-12-02T00:02:17.107009Z","started":"2026-12-02T00:02:17.126423Z","status":"succeeded","trigger":"manual"}',NULL,'run1_sxahg67qkueqfr3onvbzsym5ca');
INSERT INTO "audit_bodies" VALUES(49,'a40798ed38c6d4ab710fa182f8892477b0c819cd0b04a92f20cfb472d997b7eb','{"attempt":1,"channel":"team","message":"msg1_b275956d55a4470808a33dc1","outcome_unknown":false,"run":"run1_sxahg67qkueqfr3onvbzsym5ca"}',NULL,'run1_sxahg67qkueqfr3onvbzsym5ca');
INSERT INTO "audit_bodies" VALUES(50,'c1a25f02fbd9d189c0064c54388fb3797eb285f85d3113795620619e83ce9829','{"attempt":1,"channel":"team","found":false,"message":"msg1_b275956d55a4470808a33dc1","receipt":{"details":{"notice":"msg1_b275956d55a4470808a33dc1"},"where":"file messages.jsonl"},"run":"run1_sxahg67qkueqfr3onvbzsym5ca"}',NULL,'run1_sxahg67qkueqfr3onvbzsym5ca');
CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	head TEXT NOT NULL, 
	CONSTRAINT pk_audit_head PRIMARY KEY (id), 
	CONSTRAINT ck_audit_head_one_row CHECK (id = 1)
);
INSERT INTO "audit_head" VALUES(1,50,'81a485ce977e41f12066b5c80667f98dbee1aa5e0ab42758ac82eec1be19c52e');
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
INSERT INTO "checkpoints" VALUES(21,1,'ffcc025de5c2c9fd5d1a1da6ba450add9c6018b68a2a73c5190cd8e646d89175','2026-12-02T00:02:13.172411Z','96922f2b637c238b2dd757fd2f9cd58ebd9918c2d896858e3e12ee43504fa3ec','cf32f8de9f7573b9a0db5302c3eb1ecf797ce6f3227fb8e317aaa09730aa4be32e02a87f732bc810f0570e08a5a75b3bd7d45e33f3ef54c8d0acbae9ed6bed06');
INSERT INTO "checkpoints" VALUES(24,1,'05c19ed802e913b64cd1e545d0e880ed34c0b97780dc9def3b2217eea6d7ff2e','2026-12-02T00:02:13.895319Z','96922f2b637c238b2dd757fd2f9cd58ebd9918c2d896858e3e12ee43504fa3ec','17d946f0304bae67e8f2a5ee4690ba5d8e9d3c281d6944c577649098a34b2fd7aaf09a60628d3bc4b484b6151c268caf0076f902f8d10eea1a6c07416992420d');
INSERT INTO "checkpoints" VALUES(33,1,'679ad55f7088bbb3a5167660cb0e1ad50c262f2f95fd7fc155b0d975eb135ffa','2026-12-02T00:02:15.395683Z','96922f2b637c238b2dd757fd2f9cd58ebd9918c2d896858e3e12ee43504fa3ec','f0c9f65cc0a89de4b64b83b4be002351a790be7ec56343c6897e0b843ca041cbe26d125e403885e3f8357733d536cf6a9d689ae5e64a4538490a6b38db5d0206');
INSERT INTO "checkpoints" VALUES(36,1,'2a98a85fc3d6683d1533b5d64307ddd39c78370180b50fed4b031a062038300f','2026-12-02T00:02:15.903756Z','96922f2b637c238b2dd757fd2f9cd58ebd9918c2d896858e3e12ee43504fa3ec','3a053f0002055d607554620ece40746fbf81f37038d3f90c23d79a90cc4477300c523ae0c87e20340065d43f3356aadec5a55fbb5da826b9e1bfe4c4274b1001');
INSERT INTO "checkpoints" VALUES(50,1,'81a485ce977e41f12066b5c80667f98dbee1aa5e0ab42758ac82eec1be19c52e','2026-12-02T00:02:19.729969Z','96922f2b637c238b2dd757fd2f9cd58ebd9918c2d896858e3e12ee43504fa3ec','21d0b55ce3e5953d9e900d802a4080ce3e53253549427948fd87c21a931857c7c9272b7c44ee36f9322cb9b140e558f667450f9dadebd10392df0f4ba2b43305');
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
INSERT INTO "dataset_schemas" VALUES('customers','twins','1e25c805782bdb4a8494d66807fb20b12c66ed294a8079cc2f1ac0983bc976c7','{"groups":[["run1_ytxsbsio4nt3lzlysikyk6nxeq",4],["run1_sxahg67qkueqfr3onvbzsym5ca",3]],"previous":{"bare":{},"cleaned":0,"empty":{},"groups":4,"lacking":{"email":0.0,"id":0.0,"status":0.0},"members":8,"read":8,"rule":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","types":{"email":"text","id":"integer","merged_into":"integer","name":"text","phone":"text","status":"text"},"used":["email","id","merged_into","status"]},"shape":{"bare":{},"cleaned":0,"empty":{},"groups":3,"lacking":{"email":0.0,"id":0.0,"status":0.0},"members":6,"read":8,"rule":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","run":"run1_sxahg67qkueqfr3onvbzsym5ca","types":{"email":"text","id":"integer","merged_into":"integer","name":"text","phone":"text","status":"text"},"used":["email","id","merged_into","status"]},"waiting":null}','2026-12-02T00:02:17.667102Z');
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
INSERT INTO "dataset_stats" VALUES('customers','twins','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:10.118849Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('customers','persons','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:10.959033Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('orders','paid','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:11.920136Z',3,3,0,4);
INSERT INTO "dataset_stats" VALUES('charges','paid','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:11.920136Z',4,4,0,4);
INSERT INTO "dataset_stats" VALUES('charges','negative','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:12.155361Z',4,4,0,1);
INSERT INTO "dataset_stats" VALUES('customers','twins','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:17.667102Z',8,7,0,3);
INSERT INTO "dataset_stats" VALUES('customers','persons','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:17.872292Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('orders','paid','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:18.776229Z',3,3,0,4);
INSERT INTO "dataset_stats" VALUES('charges','paid','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:18.776229Z',4,4,0,4);
INSERT INTO "dataset_stats" VALUES('charges','negative','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:19.002690Z',4,4,0,0);
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
INSERT INTO "effects" VALUES('rk1.hfrghd.z2vrsjvywnwo3wvwru56v2ep3u2i7a6qmc4wdkmsidjf7xa7lsyq','P-NV2LLORGTCHC','sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','set:merged_into,status','72df084007265f28300c546d890b1cae0eedc5365a9c274d17433b6b3496831c',1,'2939410f90628cc4931b0a4527fea0d035048d6c042a5f7bc18bf1faa1278ca9','compensated',0,'2026-12-02T00:02:14.643857Z','2026-12-02T00:02:14.696531Z');
INSERT INTO "effects" VALUES('rk1.hfrghd.gm2ykljea7vos63shqqmd7ekazkwefmakr4rzxoanpm5bmd4wvmq','P-RL4MOR4UKYUW','sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','set:merged_into,status','59204167b4bdaa7f888c0ff45637cf7831c3e2900543609d32bbd4c798c3ccf7',1,'edb92ff7f83e0061cc553592e802835ee21eb072e6d8ff1e6e2bb6f026e4e600','succeeded',0,'2026-12-02T00:02:15.315998Z','2026-12-02T00:02:15.335755Z');
INSERT INTO "effects" VALUES('rk1.hfrghd.fdcuujundeo77oikwq4ttztff3wlkgjss5wanacmqbakig6r6w6q','P-LD3TL6QMCEQX','sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','set:merged_into,status.undo','72df084007265f28300c546d890b1cae0eedc5365a9c274d17433b6b3496831c',1,'e642cc75f6850ef1698d8178da4812aee84152fc13f042e3fa8be56eb4233362','succeeded',0,'2026-12-02T00:02:15.745101Z','2026-12-02T00:02:15.788412Z');
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
INSERT INTO "facts" VALUES('finding','F-3XGRZ2','3e0ecededd5b1bc87f5c43b5d52ff31a');
INSERT INTO "facts" VALUES('finding','F-NZ5BG0','7c0ef8ef1dba4e70b0b30d7c204869f3');
INSERT INTO "facts" VALUES('finding','F-P79CFV','28130a0967881e8e2451c18d76c7aa8b');
INSERT INTO "facts" VALUES('finding','F-YNKMJV','168a5821ed6c4c9b1794689a53fc9a3b');
INSERT INTO "facts" VALUES('rule','twins','05efa92d49e3905ad94ed6393af7d335');
INSERT INTO "facts" VALUES('finding','F-04RT7S','9395eb96bfeec1e8da4315eacc31165b');
INSERT INTO "facts" VALUES('finding','F-0EYFCV','1e7361a16be12db78066b45855b20b9a');
INSERT INTO "facts" VALUES('finding','F-AABXPX','a7544c762dc076c894be5f3a6e1de3a8');
INSERT INTO "facts" VALUES('finding','F-N9JGSN','2058fab1b1b25f8488f09fa23bb67fa5');
INSERT INTO "facts" VALUES('rule','persons','ad477e55863022644a51f5a4aa8f24f2');
INSERT INTO "facts" VALUES('finding','F-4ECRFP','fb799f2bd0c87c8332cdb5aca7078303');
INSERT INTO "facts" VALUES('finding','F-HRCEP2','d519186fb66d0a4485d43715809ce277');
INSERT INTO "facts" VALUES('finding','F-SRYJ9R','468ce2bc566c77ac8af945ba7f8a1802');
INSERT INTO "facts" VALUES('finding','F-WFFCT6','a8b508bd46a6c0f00ca22bbd9fb6353c');
INSERT INTO "facts" VALUES('rule','paid','c1501d2d8479418729ccb3daa566e209');
INSERT INTO "facts" VALUES('finding','F-YFWMD3','a57540e08f3b67a5b66507b9e21dc114');
INSERT INTO "facts" VALUES('rule','negative','ef0a1a218131658a891558ff1a594961');
INSERT INTO "facts" VALUES('plan','P-FCBFBPSVDMRT','8889141daf5fe2816f6e7d8fb7a31a26');
INSERT INTO "facts" VALUES('plan','P-LIJOESB4TVZP','4b56f657cb08172d07dcf4781a41696e');
INSERT INTO "facts" VALUES('plan','P-NV2LLORGTCHC','acbd5932838f04e3ef7ce44ccb51500e');
INSERT INTO "facts" VALUES('plan','P-RL4MOR4UKYUW','71a8477ad371d989b33e1e5ae589d91c');
INSERT INTO "facts" VALUES('limits','rule:twins','2693efd44134c90f9dadb9a0b02d7715');
INSERT INTO "facts" VALUES('limits','target:sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','03e63dffe464c0805b7de602f971f1f9');
INSERT INTO "facts" VALUES('plan','P-FW37ONHGVRSK','4538202840b984ad03477fe76bbb65ec');
INSERT INTO "facts" VALUES('plan','P-LD3TL6QMCEQX','096461b0610891b26a3834646fad9600');
INSERT INTO "facts" VALUES('user','ada','089ac08eba796855405182cd5b9e71bf');
INSERT INTO "facts" VALUES('finding','F-KWK6CT','d3e9f4f541f6a384df5d29c750b78d24');
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
INSERT INTO "finding_aliases" VALUES('7b78eed930f265771e152d5be132faf6a6979eb2cdf4073177837cc6581742c3','F-3XGRZ2','2026-12-02T00:02:10.118849Z');
INSERT INTO "finding_aliases" VALUES('137cf716af983dad57cae9dad9897219da3f84fe0f7ca16d9633f433dadae2bc','F-NZ5BG0','2026-12-02T00:02:10.118849Z');
INSERT INTO "finding_aliases" VALUES('d77034a138293c079229cccc8ab5148a1ff7c179c35013e14165e5cb598a5048','F-P79CFV','2026-12-02T00:02:10.118849Z');
INSERT INTO "finding_aliases" VALUES('8d0867d1f301957fc530ec9ada71c6413d4e0356e111d5f4578cb7fe8bf104d5','F-YNKMJV','2026-12-02T00:02:10.118849Z');
INSERT INTO "finding_aliases" VALUES('c8005c8f81e4564a0d5105828a02754bfad90e2457c46cc11fe28fae37d22bcf','F-04RT7S','2026-12-02T00:02:10.959033Z');
INSERT INTO "finding_aliases" VALUES('4de1127e30e667b660741382ba4887787791903f7d29ed11dbff41c013f6f298','F-0EYFCV','2026-12-02T00:02:10.959033Z');
INSERT INTO "finding_aliases" VALUES('7f80b75f46db68efc66ab0186d2dbc910635a0901d2bbc14b37c8ef5a8df26bd','F-AABXPX','2026-12-02T00:02:10.959033Z');
INSERT INTO "finding_aliases" VALUES('0a20151e72ec0d5de32aacb69a026ba5dfc1f33f0f5346f384234164cc8e5357','F-N9JGSN','2026-12-02T00:02:10.959033Z');
INSERT INTO "finding_aliases" VALUES('fee42b732737579d256fc8949f537ed39d92ff1a01edc2197e881558b1ce26ae','F-4ECRFP','2026-12-02T00:02:11.920136Z');
INSERT INTO "finding_aliases" VALUES('cde5ffef6644b8d5fcdc4893c022ea7c19026f894f92051f9cbfb9ce974c9784','F-HRCEP2','2026-12-02T00:02:11.920136Z');
INSERT INTO "finding_aliases" VALUES('6cf4c4403c4ad7c3c91ec17679af2587450d5b6e598cbcd95410d74d2cda5a74','F-SRYJ9R','2026-12-02T00:02:11.920136Z');
INSERT INTO "finding_aliases" VALUES('e6be0250e6a167f7c8a4b4ad09ab4b19c14f2a447611e58d190d68d7865d86e6','F-WFFCT6','2026-12-02T00:02:11.920136Z');
INSERT INTO "finding_aliases" VALUES('8844f17012983db39e6a72a011555afe8ffcb90c228e74e2b97c86edbbea3889','F-YFWMD3','2026-12-02T00:02:12.155361Z');
INSERT INTO "finding_aliases" VALUES('d690e314d68d87444246c277eccbe914cee2dd0ae0822749439057d1fa36cd43','F-KWK6CT','2026-12-02T00:02:18.776229Z');
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
INSERT INTO "finding_members" VALUES('F-3XGRZ2','[["n","1"]]',0,'keeper','[["email",["t","ada@example.com"]],["id",["z","1"]]]','2026-12-02T00:02:10.118849Z','2026-12-02T00:02:14.696531Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-3XGRZ2','[["n","2"]]',1,'surplus','[["email",["t"," Ada@example.com"]],["id",["z","2"]]]','2026-12-02T00:02:10.118849Z','2026-12-02T00:02:14.696531Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-NZ5BG0','[["n","3"]]',0,'keeper','[["email",["t","bob@example.com"]],["id",["z","3"]]]','2026-12-02T00:02:10.118849Z','2026-12-02T00:02:15.335755Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-NZ5BG0','[["n","4"]]',1,'surplus','[["email",["t","BOB@example.com"]],["id",["z","4"]]]','2026-12-02T00:02:10.118849Z','2026-12-02T00:02:15.335755Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-P79CFV','[["n","7"]]',0,'keeper','[["email",["t","di@example.com"]],["id",["z","7"]]]','2026-12-02T00:02:10.118849Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-P79CFV','[["n","8"]]',1,'surplus','[["email",["t","di@example.com"]],["id",["z","8"]]]','2026-12-02T00:02:10.118849Z',NULL,'root','2026-12-02T00:02:13.802924Z',NULL);
INSERT INTO "finding_members" VALUES('F-YNKMJV','[["n","5"]]',0,'keeper','[["email",["t","cy@example.com"]],["id",["z","5"]]]','2026-12-02T00:02:10.118849Z','2026-12-02T00:02:15.970844Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-YNKMJV','[["n","6"]]',1,'surplus','[["email",["t","cy@example.com"]],["id",["z","6"]]]','2026-12-02T00:02:10.118849Z','2026-12-02T00:02:15.970844Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-04RT7S','[["n","5"]]',0,'keeper','[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','2026-12-02T00:02:10.959033Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-04RT7S','[["n","6"]]',1,'surplus','[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','2026-12-02T00:02:10.959033Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-0EYFCV','[["n","3"]]',0,'keeper','[["phone",["t","+49 3"]],["name",["t","Bob Roe"]]]','2026-12-02T00:02:10.959033Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-0EYFCV','[["n","4"]]',1,'surplus','[["phone",["t","+49 4"]],["name",["t","Bob Roe"]]]','2026-12-02T00:02:10.959033Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-AABXPX','[["n","7"]]',0,'keeper','[["phone",["t","+49 7"]],["name",["t","Di Poe"]]]','2026-12-02T00:02:10.959033Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-AABXPX','[["n","8"]]',1,'surplus','[["phone",["t","+49 8"]],["name",["t","Di Poe"]]]','2026-12-02T00:02:10.959033Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-N9JGSN','[["n","1"]]',0,'keeper','[["phone",["t","+49 1"]],["name",["t","Ada Byron"]]]','2026-12-02T00:02:10.959033Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-N9JGSN','[["n","2"]]',1,'surplus','[["phone",["t","+49 1"]],["name",["t","A. Byron"]]]','2026-12-02T00:02:10.959033Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-4ECRFP','[["@","charges"],["t","c4"]]',0,'right','[["order_id",["t","E"]],["amount",["n","-3.00"]]]','2026-12-02T00:02:11.920136Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-HRCEP2','[["t","B"]]',0,'left','[["id",["t","B"]],["total",["n","20.00"]]]','2026-12-02T00:02:11.920136Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-HRCEP2','[["@","charges"],["t","c2"]]',1,'right','[["order_id",["t","B"]],["amount",["n","21.50"]]]','2026-12-02T00:02:11.920136Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-SRYJ9R','[["@","charges"],["t","c3"]]',0,'right','[["order_id",["t","D"]],["amount",["n","7.00"]]]','2026-12-02T00:02:11.920136Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-WFFCT6','[["t","C"]]',0,'left','[["id",["t","C"]],["total",["n","30.00"]]]','2026-12-02T00:02:11.920136Z','2026-12-02T00:02:16.371916Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-YFWMD3','[["t","c4"]]',0,'record','[["amount",["n","-3.00"]]]','2026-12-02T00:02:12.155361Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-KWK6CT','[["@","charges"],["t","c5"]]',0,'right','[["order_id",["t","F"]],["amount",["n","99.00"]]]','2026-12-02T00:02:18.776229Z',NULL,NULL,NULL,NULL);
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
INSERT INTO "findings" VALUES('F-3XGRZ2','7b78eed930f265771e152d5be132faf6a6979eb2cdf4073177837cc6581742c3','twins','duplicates','customers','undone',3,2,'[["email",["t","ada@example.com"]]]','{"change":"new","decided":"undone","not_undone":null,"reason":null,"settled_key":[["email",["t","ada@example.com"]]],"span":null,"summary":true}','{}',2,'run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:10.118849Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:17.667102Z','2026-12-02T00:02:15.788412Z',NULL,NULL,'root',NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-NZ5BG0','137cf716af983dad57cae9dad9897219da3f84fe0f7ca16d9633f433dadae2bc','twins','duplicates','customers','cleaned',3,2,'[["email",["t","bob@example.com"]]]','{"change":"new","reason":null,"settled_key":[["email",["t","bob@example.com"]]],"span":null,"summary":true}','{}',2,'run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:10.118849Z','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:10.118849Z','2026-12-02T00:02:15.335755Z',NULL,NULL,'root',NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-P79CFV','d77034a138293c079229cccc8ab5148a1ff7c179c35013e14165e5cb598a5048','twins','duplicates','customers','awaiting_approval',3,3,'[["email",["t","di@example.com"]]]','{"change":"new","reason":null,"span":null,"summary":true}','{}',2,'run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:10.118849Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:17.667102Z','2026-12-02T00:02:13.802924Z',NULL,NULL,NULL,'the newer address',NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-YNKMJV','8d0867d1f301957fc530ec9ada71c6413d4e0356e111d5f4578cb7fe8bf104d5','twins','duplicates','customers','dismissed',3,2,'[["email",["t","cy@example.com"]]]','{"change":"new","decided":"dismissed","reason":null,"settled_key":[["email",["t","cy@example.com"]]],"span":null,"summary":true}','{}',2,'run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:10.118849Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:17.667102Z','2026-12-02T00:02:15.970844Z',NULL,NULL,'root','two people',NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-04RT7S','c8005c8f81e4564a0d5105828a02754bfad90e2457c46cc11fe28fae37d22bcf','persons','duplicates','customers','snoozed',3,1,'[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','{"change":"new","judged":[["@by phone",["t","+49 5"]],["@by name",["t","Cy Doe"]]],"links":[[0,1,[0,1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:10.959033Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:17.872292Z','2026-12-02T00:02:16.132119Z','2999-01-01T00:00:00.000000Z',NULL,'root',NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-0EYFCV','4de1127e30e667b660741382ba4887787791903f7d29ed11dbff41c013f6f298','persons','duplicates','customers','open',3,1,'[["name",["t","Bob Roe"]]]','{"change":"new","judged":[["@by name",["t","Bob Roe"]]],"links":[[0,1,[1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:10.959033Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:17.872292Z','2026-12-02T00:02:10.959033Z',NULL,'bob',NULL,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-AABXPX','7f80b75f46db68efc66ab0186d2dbc910635a0901d2bbc14b37c8ef5a8df26bd','persons','duplicates','customers','open',3,1,'[["name",["t","Di Poe"]]]','{"change":"new","judged":[["@by name",["t","Di Poe"]]],"links":[[0,1,[1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:10.959033Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:17.872292Z','2026-12-02T00:02:10.959033Z',NULL,NULL,NULL,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-N9JGSN','0a20151e72ec0d5de32aacb69a026ba5dfc1f33f0f5346f384234164cc8e5357','persons','duplicates','customers','open',3,1,'[["phone",["t","+49 1"]]]','{"change":"new","judged":[["@by phone",["t","+49 1"]]],"links":[[0,1,[0],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:10.959033Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:17.872292Z','2026-12-02T00:02:10.959033Z',NULL,NULL,NULL,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-4ECRFP','fee42b732737579d256fc8949f537ed39d92ff1a01edc2197e881558b1ce26ae','paid','reconciliation','orders','resolved',3,1,'[["id",["t","E"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","E"]],["@form",["t","right_only"]],["@at risk EUR",["n","3.00"]]],"peaks":[["@at risk EUR","3.00"]],"reason":"its records no longer match","span":null,"summary":true}','{"EUR":"3.00"}',1,'run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:11.920136Z','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:11.920136Z','2026-12-02T00:02:18.776229Z',NULL,NULL,NULL,NULL,NULL,NULL,-3.0,NULL);
INSERT INTO "findings" VALUES('F-HRCEP2','cde5ffef6644b8d5fcdc4893c022ea7c19026f894f92051f9cbfb9ce974c9784','paid','reconciliation','orders','open',3,1,'[["id",["t","B"]]]','{"change":"new","datasets":["orders","charges"],"differing":[["total / amount",["n","20.00"],["n","21.50"],"total","amount"]],"form":"mismatch","form_reason":null,"judged":[["id",["t","B"]],["@form",["t","mismatch"]],["@at risk EUR",["n","1.50"]],["@left total",["n","20.00"]],["@right amount",["n","21.50"]]],"peaks":[["@at risk EUR","1.50"],["total / amount","1.50"]],"reason":null,"span":null,"summary":true}','{"EUR":"-1.50"}',2,'run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:11.920136Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:18.776229Z','2026-12-02T00:02:11.920136Z',NULL,NULL,NULL,NULL,NULL,NULL,-1.5,NULL);
INSERT INTO "findings" VALUES('F-SRYJ9R','6cf4c4403c4ad7c3c91ec17679af2587450d5b6e598cbcd95410d74d2cda5a74','paid','reconciliation','orders','open',3,1,'[["id",["t","D"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","D"]],["@form",["t","right_only"]],["@at risk EUR",["n","7.00"]]],"peaks":[["@at risk EUR","7.00"]],"reason":null,"span":null,"summary":true}','{"EUR":"-7.00"}',1,'run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:11.920136Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:18.776229Z','2026-12-02T00:02:11.920136Z',NULL,NULL,NULL,NULL,NULL,NULL,-7.0,NULL);
INSERT INTO "findings" VALUES('F-WFFCT6','e6be0250e6a167f7c8a4b4ad09ab4b19c14f2a447611e58d190d68d7865d86e6','paid','reconciliation','orders','handled',3,1,'[["id",["t","C"]]]','{"change":"new","datasets":["orders","charges"],"decided":"handled","decided_money":{"EUR":"30.00"},"differing":[],"form":"left_only","form_reason":null,"judged":[["id",["t","C"]],["@form",["t","left_only"]],["@at risk EUR",["n","30.00"]]],"peaks":[["@at risk EUR","30.00"]],"reason":null,"settled_key":[["id",["t","C"]],["@form",["t","left_only"]],["@at risk EUR",["n","30.00"]]],"span":null,"summary":true}','{"EUR":"30.00"}',1,'run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:11.920136Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:18.776229Z','2026-12-02T00:02:16.371916Z',NULL,NULL,'root','refunded',NULL,NULL,-30.0,NULL);
INSERT INTO "findings" VALUES('F-YFWMD3','8844f17012983db39e6a72a011555afe8ffcb90c228e74e2b97c86edbbea3889','negative','check','charges','resolved',3,1,'[["id",["t","c4"]],["amount",["n","-3.00"]]]','{"change":"new","form":"condition","judged":[["id",["t","c4"]],["amount",["n","-3.00"]]],"peaks":[["@at risk EUR","3.00"]],"reason":"its records no longer match","span":null,"summary":true}','{"EUR":"-3.00"}',1,'run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:12.155361Z','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:12.155361Z','2026-12-02T00:02:19.002690Z',NULL,NULL,NULL,NULL,NULL,NULL,-3.0,NULL);
INSERT INTO "findings" VALUES('F-KWK6CT','d690e314d68d87444246c277eccbe914cee2dd0ae0822749439057d1fa36cd43','paid','reconciliation','orders','open',3,1,'[["id",["t","F"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","F"]],["@form",["t","right_only"]],["@at risk EUR",["n","99.00"]]],"peaks":[["@at risk EUR","99.00"]],"reason":null,"span":null,"summary":false}','{"EUR":"-99.00"}',1,'run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:18.776229Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:18.776229Z','2026-12-02T00:02:18.776229Z',NULL,NULL,NULL,NULL,NULL,NULL,-99.0,NULL);
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
INSERT INTO "guarded_keys" VALUES('gk1.6nuahl.q4d5csshlszwwoye6gmcqvaa7abq47wf','welcome','done','319085985f045a8dd91ec54932054db2880835fca9845e735af47bfdad556fdb',1796169739769545,1,0,'a program','2026-12-02T00:07:19.769545Z',NULL,'2026-12-02T00:02:19.769545Z','2026-12-02T00:02:19.773599Z','2028-01-06T00:02:19.773599Z','{"message":"m-1"}',NULL);
INSERT INTO "guarded_keys" VALUES('gk1.6nuahl.o6rpfzobki2jkxppvzr57oyzddntg25s','welcome','failed','319085985f045a8dd91ec54932054db2880835fca9845e735af47bfdad556fdb',1796169739776207,1,0,'a program','2026-12-02T00:07:19.776207Z',NULL,'2026-12-02T00:02:19.776207Z','2026-12-02T00:02:19.777180Z','2028-01-06T00:02:19.777180Z',NULL,'no address');
INSERT INTO "guarded_keys" VALUES('gk1.6nuahl.ao3oer6uajizs5y5gtshthovdprviktc','welcome','in_progress','319085985f045a8dd91ec54932054db2880835fca9845e735af47bfdad556fdb',1796169739778144,1,0,'a program','2026-12-02T00:07:19.778144Z','5591d2e6-64f6-4519-b354-acee5d89578e 5517609490253','2026-12-02T00:02:19.778144Z','2026-12-02T00:02:19.778144Z','2028-01-06T00:02:19.778144Z',NULL,NULL);
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
INSERT INTO "leases" VALUES('job:nightly',NULL,2,'2026-12-02T00:02:19.700163Z','2026-12-02T00:02:17.115771Z');
INSERT INTO "leases" VALUES('compaction',NULL,0,'2026-12-03T00:02:13.042426Z','2026-12-02T00:02:13.042426Z');
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
INSERT INTO "limit_uses" VALUES('P-NV2LLORGTCHC','twins','sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:12.838031Z',1,'{}');
INSERT INTO "limit_uses" VALUES('P-RL4MOR4UKYUW','twins','sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:12.838031Z',1,'{}');
INSERT INTO "limit_uses" VALUES('P-FW37ONHGVRSK','twins','sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:19.526449Z',1,'{}');
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
INSERT INTO "limits" VALUES('target:sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db',NULL,NULL,'2026-12-02T00:02:19.526449Z',3,'{}','run1_sxahg67qkueqfr3onvbzsym5ca',1,'{}');
INSERT INTO "limits" VALUES('rule:twins',NULL,NULL,'2026-12-02T00:02:19.526449Z',3,'{}','run1_sxahg67qkueqfr3onvbzsym5ca',1,'{}');
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
INSERT INTO "meta" VALUES(1,'st_41e7db874c3f9db56ff5bbc85cb57d8e',1,'0023','c8035a26b05e6bbb9dadc3e3216200114a537a55fd93cb5e69e082ecde33b0d0','2026-12-02T00:02:09.295549Z');
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
INSERT INTO "not_same" VALUES('twins','[["n","1"]]','[["n","2"]]','[["email",["t","ada@example.com"]]]','[["email",["t","ada@example.com"]]]','F-3XGRZ2','reconcile','2026-12-02T00:02:15.788412Z',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "not_same" VALUES('twins','[["n","5"]]','[["n","6"]]','[["email",["t","cy@example.com"]]]','[["email",["t","cy@example.com"]]]','F-YNKMJV','root','2026-12-02T00:02:15.970844Z','two people',NULL,NULL,NULL,NULL);
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
INSERT INTO "notified" VALUES('F-WFFCT6','team',1,'msg1_552ea3b1d4d11fd491f9c4fe','2026-12-02T00:02:12.953850Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-SRYJ9R','team',1,'msg1_552ea3b1d4d11fd491f9c4fe','2026-12-02T00:02:12.953850Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-4ECRFP','team',1,'msg1_552ea3b1d4d11fd491f9c4fe','2026-12-02T00:02:12.953850Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-YFWMD3','team',1,'msg1_552ea3b1d4d11fd491f9c4fe','2026-12-02T00:02:12.953850Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-HRCEP2','team',1,'msg1_552ea3b1d4d11fd491f9c4fe','2026-12-02T00:02:12.953850Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-04RT7S','team',1,'msg1_552ea3b1d4d11fd491f9c4fe','2026-12-02T00:02:12.953850Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-0EYFCV','team',1,'msg1_552ea3b1d4d11fd491f9c4fe','2026-12-02T00:02:12.953850Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-AABXPX','team',1,'msg1_552ea3b1d4d11fd491f9c4fe','2026-12-02T00:02:12.953850Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-N9JGSN','team',1,'msg1_552ea3b1d4d11fd491f9c4fe','2026-12-02T00:02:12.953850Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-3XGRZ2','team',2,'msg1_552ea3b1d4d11fd491f9c4fe','2026-12-02T00:02:12.953850Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-NZ5BG0','team',2,'msg1_552ea3b1d4d11fd491f9c4fe','2026-12-02T00:02:12.953850Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-P79CFV','team',3,'msg1_552ea3b1d4d11fd491f9c4fe','2026-12-02T00:02:12.953850Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-YNKMJV','team',2,'msg1_552ea3b1d4d11fd491f9c4fe','2026-12-02T00:02:12.953850Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-KWK6CT','team',1,'msg1_b275956d55a4470808a33dc1','2026-12-02T00:02:19.640375Z',NULL,NULL,NULL);
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
INSERT INTO "outbox" VALUES('msg1_552ea3b1d4d11fd491f9c4fe','team','nightly','run1_ytxsbsio4nt3lzlysikyk6nxeq','{"id":"msg1_552ea3b1d4d11fd491f9c4fe","job":"nightly","run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","slot":"2026-12-02T00:02:07.740395Z","rules":[{"rule":"twins","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":4,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"persons","severity":"medium","dataset":"customers","new":4,"grown":0,"reopened":0,"known":0,"resolved":0,"records":4,"money":{},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-04RT7S","state":"new","key":{"phone":"+49 5","name":"Cy Doe"},"keeper":"5","surplus":["6"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-0EYFCV","state":"new","key":{"name":"Bob Roe"},"keeper":"3","surplus":["4"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-AABXPX","state":"new","key":{"name":"Di Poe"},"keeper":"7","surplus":["8"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-N9JGSN","state":"new","key":{"phone":"+49 1"},"keeper":"1","surplus":["2"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"paid","severity":"medium","dataset":"orders","new":4,"grown":0,"reopened":0,"known":0,"resolved":0,"records":0,"money":{"EUR":"41.50"},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-WFFCT6","state":"new","key":{"id":"C"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"30.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"left_only","in_words":"missing in charges","left":["orders C"],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-SRYJ9R","state":"new","key":{"id":"D"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"7.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c3"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-4ECRFP","state":"new","key":{"id":"E"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"3.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c4"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-HRCEP2","state":"new","key":{"id":"B"},"keeper":"","surplus":[],"records":2,"money":{"EUR":"1.50"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"mismatch","in_words":"values differ","left":["orders B"],"right":["charges c2"],"differences":[{"column":"total / amount","left":"20.00","right":"21.50","apart":"by 1.50"}],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"reconciliation","datasets":["orders","charges"],"nouns":["discrepancy","discrepancies"],"forms":{"left_only":1,"mismatch":1,"right_only":2},"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"balance":[{"currency":"EUR","left":"60.00","right":"35.50","matched":"0.00","explained":"24.50","not_yet_due":"0","by_form":{"missing in charges":"30.00","missing in orders":"-4.00","values differ":"-1.50"},"not_reported":"0"}],"undecided":0,"first_message":false},{"rule":"negative","severity":"medium","dataset":"charges","new":1,"grown":0,"reopened":0,"known":0,"resolved":0,"records":0,"money":{"EUR":"3.00"},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-YFWMD3","state":"new","key":{"id":"c4","amount":"-3.00"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"3.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"condition","in_words":"amount is less than 0","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":"c4"}],"skipped":[],"kind":"check","datasets":[],"nouns":["failing record","failing records"],"forms":{"condition":1},"in_words":["1 failing record"],"balance":[],"undecided":0,"first_message":false}],"failures":[],"link":null,"test":false,"since":null,"created":"2026-12-02T00:02:12.953850Z","timezone":"UTC","trouble":null,"cleaning":[{"rule":"twins","severity":"medium","dataset":"customers","awaiting":4,"quarantined":0,"failed":0,"cleaned":0,"stale":0,"waiting":0,"money":{},"stopped":null,"undo":null,"findings":[{"finding":"F-3XGRZ2","state":"awaiting_approval","key":{"email":"ada@example.com"},"keeper":"1","surplus":["2"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"3b6aee33e9e9e2ca7199680c230e4d726d29c4e63e245c1fead84bae34b309cf","plan_does":"mark 1 record","plan_expires":"2026-12-09T00:02:12.838031Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-NZ5BG0","state":"awaiting_approval","key":{"email":"bob@example.com"},"keeper":"3","surplus":["4"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"5c013f5f86c961fc7c8760ac9051d52ae5eabd24e028ed9a0e96af309c30c946","plan_does":"mark 1 record","plan_expires":"2026-12-09T00:02:12.838031Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-P79CFV","state":"awaiting_approval","key":{"email":"di@example.com"},"keeper":"7","surplus":["8"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"1fcc988cec443e55e3f637a88476faa0b6d457e1a2bcfc85e86d107f96307420","plan_does":"mark 1 record","plan_expires":"2026-12-09T00:02:12.838031Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-YNKMJV","state":"awaiting_approval","key":{"email":"cy@example.com"},"keeper":"5","surplus":["6"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"ec51dc1bcc4779a9994b1a2060f8a7b76a8e2db223d01c4fe025a70e864620f4","plan_does":"mark 1 record","plan_expires":"2026-12-09T00:02:12.838031Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"owner":null,"not_undone":0,"next_run":null,"runbook":null,"undone":0,"undos_waiting":0,"expired":0,"void":0,"withdrawn":0,"waits_for":null,"doubt":null,"plans":[]}],"project":null,"escalation":null,"fallback_of":null}',1,'sent',1,'2026-12-02T00:02:12.953850Z','2026-12-02T00:02:12.953850Z','2026-12-05T00:02:12.953850Z',1,NULL,'2026-12-02T00:07:13.016804Z',0,NULL,'{"details":{"notice":"msg1_552ea3b1d4d11fd491f9c4fe"},"where":"file messages.jsonl"}','2026-12-02T00:02:13.024351Z',NULL,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES('msg1_b275956d55a4470808a33dc1','team','nightly','run1_sxahg67qkueqfr3onvbzsym5ca','{"id":"msg1_b275956d55a4470808a33dc1","job":"nightly","run":"run1_sxahg67qkueqfr3onvbzsym5ca","slot":"2026-12-02T00:02:17.107009Z","rules":[{"rule":"twins","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":1,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"persons","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":4,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"paid","severity":"medium","dataset":"orders","new":1,"grown":0,"reopened":0,"known":2,"resolved":1,"records":0,"money":{"EUR":"99.00"},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-KWK6CT","state":"new","key":{"id":"F"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"99.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c5"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"reconciliation","datasets":["orders","charges"],"nouns":["discrepancy","discrepancies"],"forms":{"right_only":1},"in_words":["1 missing in orders"],"balance":[{"currency":"EUR","left":"60.00","right":"137.50","matched":"0.00","explained":"-77.50","not_yet_due":"0","by_form":{"missing in charges":"30.00","missing in orders":"-106.00","values differ":"-1.50"},"not_reported":"0"}],"undecided":0,"first_message":false},{"rule":"negative","severity":"medium","dataset":"charges","new":0,"grown":0,"reopened":0,"known":0,"resolved":1,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"check","datasets":[],"nouns":["failing record","failing records"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false}],"failures":[],"link":null,"test":false,"since":"2026-12-02T00:02:07.740395Z","created":"2026-12-02T00:02:19.640375Z","timezone":"UTC","trouble":null,"cleaning":[{"rule":"twins","severity":"medium","dataset":"customers","awaiting":0,"quarantined":0,"failed":0,"cleaned":2,"stale":0,"waiting":0,"money":{},"stopped":null,"undo":"reconcile undo F-NZ5BG0","findings":[],"owner":null,"not_undone":0,"next_run":null,"runbook":null,"undone":1,"undos_waiting":0,"expired":0,"void":0,"withdrawn":0,"waits_for":null,"doubt":null,"plans":[{"finding":"F-3XGRZ2","what":"cleaned","does":"mark 1 record","why":null},{"finding":"F-NZ5BG0","what":"cleaned","does":"mark 1 record","why":null},{"finding":"F-3XGRZ2","what":"undone","does":"","why":null}]}],"project":null,"escalation":null,"fallback_of":null}',1,'sent',1,'2026-12-02T00:02:19.640375Z','2026-12-02T00:02:19.640375Z','2026-12-05T00:02:19.640375Z',1,NULL,'2026-12-02T00:07:19.704164Z',0,NULL,'{"details":{"notice":"msg1_b275956d55a4470808a33dc1"},"where":"file messages.jsonl"}','2026-12-02T00:02:19.718023Z',NULL,NULL,NULL,NULL);
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
INSERT INTO "plans" VALUES('P-NV2LLORGTCHC','F-3XGRZ2','twins','customers','shop','sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','set','run1_ytxsbsio4nt3lzlysikyk6nxeq','e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','3b6aee33e9e9e2ca7199680c230e4d726d29c4e63e245c1fead84bae34b309cf',NULL,'compensated',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"b2ea6de458a1612f851eebfd741cc47067acad812d83728764d1051e12328f10","changes":[{"after":{},"before":{"email":["t","ada@example.com"],"id":["i","1"],"merged_into":null,"name":["t","Ada Byron"],"phone":["t","+49 1"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","1"]]],"table":"customers"}},{"after":{"merged_into":["i","1"],"status":["t","duplicate"]},"before":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":null,"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","2"]]],"table":"customers"}}],"dataset":"customers","finding":"F-3XGRZ2","ignore_drift":[],"keeper":"[[\"n\",\"1\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"2939410f90628cc4931b0a4527fea0d035048d6c042a5f7bc18bf1faa1278ca9","generation":1,"record":"[[\"n\",\"2\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"f760e56a00f04ba8062d7b53744c1ffc","source":"shop","table":"customers","target":"sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db","triggers":[],"undoes":null,"why":[]}','[{"after":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":["i","1"],"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","duplicate"]}}]','{"approved_within":{"group":5,"money":{},"records":100,"share":"1","source_money":{},"source_records":100},"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-02T00:02:12.838031Z','2026-12-09T00:02:12.838031Z',1,NULL,'2026-12-02T00:03:14.643857Z',1,'2026-12-02T00:02:13.976515Z',NULL,NULL,'2026-12-02T00:02:14.643857Z','2026-12-02T00:02:14.696531Z');
INSERT INTO "plans" VALUES('P-RL4MOR4UKYUW','F-NZ5BG0','twins','customers','shop','sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','set','run1_ytxsbsio4nt3lzlysikyk6nxeq','e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','5c013f5f86c961fc7c8760ac9051d52ae5eabd24e028ed9a0e96af309c30c946',NULL,'succeeded',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"b2ea6de458a1612f851eebfd741cc47067acad812d83728764d1051e12328f10","changes":[{"after":{},"before":{"email":["t","bob@example.com"],"id":["i","3"],"merged_into":null,"name":["t","Bob Roe"],"phone":["t","+49 3"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","3"]]],"table":"customers"}},{"after":{"merged_into":["i","3"],"status":["t","duplicate"]},"before":{"email":["t","BOB@example.com"],"id":["i","4"],"merged_into":null,"name":["t","Bob Roe"],"phone":["t","+49 4"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","4"]]],"table":"customers"}}],"dataset":"customers","finding":"F-NZ5BG0","ignore_drift":[],"keeper":"[[\"n\",\"3\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"edb92ff7f83e0061cc553592e802835ee21eb072e6d8ff1e6e2bb6f026e4e600","generation":1,"record":"[[\"n\",\"4\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"619389e16837c8741cd9a1e4b10e4c50","source":"shop","table":"customers","target":"sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db","triggers":[],"undoes":null,"why":[]}','[{"after":{"email":["t","BOB@example.com"],"id":["i","4"],"merged_into":["i","3"],"name":["t","Bob Roe"],"phone":["t","+49 4"],"status":["t","duplicate"]}}]','{"approved_within":{"group":5,"money":{},"records":100,"share":"1","source_money":{},"source_records":100},"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-02T00:02:12.838031Z','2026-12-09T00:02:12.838031Z',1,NULL,'2026-12-02T00:03:15.315998Z',1,'2026-12-02T00:02:14.791494Z',NULL,NULL,'2026-12-02T00:02:15.315998Z','2026-12-02T00:02:15.335755Z');
INSERT INTO "plans" VALUES('P-LIJOESB4TVZP','F-P79CFV','twins','customers','shop','sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','set','run1_ytxsbsio4nt3lzlysikyk6nxeq','e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','1fcc988cec443e55e3f637a88476faa0b6d457e1a2bcfc85e86d107f96307420',NULL,'skipped','root chose another keeper','{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"b2ea6de458a1612f851eebfd741cc47067acad812d83728764d1051e12328f10","changes":[{"after":{},"before":{"email":["t","di@example.com"],"id":["i","7"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 7"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","7"]]],"table":"customers"}},{"after":{"merged_into":["i","7"],"status":["t","duplicate"]},"before":{"email":["t","di@example.com"],"id":["i","8"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 8"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","8"]]],"table":"customers"}}],"dataset":"customers","finding":"F-P79CFV","ignore_drift":[],"keeper":"[[\"n\",\"7\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"331cef736edaa8ae8474e922734a1bf39765376a61bd0b918faf2f49de7845b6","generation":1,"record":"[[\"n\",\"8\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"eefaac3fd7d12e72bb1f849b491b823c","source":"shop","table":"customers","target":"sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-02T00:02:12.838031Z','2026-12-09T00:02:12.838031Z',0,NULL,'2026-12-02T00:02:12.838031Z',0,'2026-12-02T00:02:12.838031Z',NULL,NULL,NULL,'2026-12-02T00:02:13.802924Z');
INSERT INTO "plans" VALUES('P-FCBFBPSVDMRT','F-YNKMJV','twins','customers','shop','sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','set','run1_ytxsbsio4nt3lzlysikyk6nxeq','e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','ec51dc1bcc4779a9994b1a2060f8a7b76a8e2db223d01c4fe025a70e864620f4',NULL,'skipped','dismissed by root','{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"b2ea6de458a1612f851eebfd741cc47067acad812d83728764d1051e12328f10","changes":[{"after":{},"before":{"email":["t","cy@example.com"],"id":["i","5"],"merged_into":null,"name":["t","Cy Doe"],"phone":["t","+49 5"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","5"]]],"table":"customers"}},{"after":{"merged_into":["i","5"],"status":["t","duplicate"]},"before":{"email":["t","cy@example.com"],"id":["i","6"],"merged_into":null,"name":["t","Cy Doe"],"phone":["t","+49 5"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","6"]]],"table":"customers"}}],"dataset":"customers","finding":"F-YNKMJV","ignore_drift":[],"keeper":"[[\"n\",\"5\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"28c28c486ed7e3f14fbfd959e6cc43503762fda081bd8e96ec76755fbcc523e3","generation":1,"record":"[[\"n\",\"6\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"6440d924fa31e43fd4c5dc5b5abe9131","source":"shop","table":"customers","target":"sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-02T00:02:12.838031Z','2026-12-09T00:02:12.838031Z',0,NULL,'2026-12-02T00:02:12.838031Z',0,'2026-12-02T00:02:12.838031Z',NULL,NULL,NULL,'2026-12-02T00:02:15.970844Z');
INSERT INTO "plans" VALUES('P-FW37ONHGVRSK','F-P79CFV','twins','customers','shop','sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','set',NULL,'e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','ca3515d674940a8bd545bfabf0471e7a95abfd9b24d33ea6c6c8243fb9ccafe4',NULL,'awaiting_approval',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"b2ea6de458a1612f851eebfd741cc47067acad812d83728764d1051e12328f10","changes":[{"after":{},"before":{"email":["t","di@example.com"],"id":["i","8"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 8"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","8"]]],"table":"customers"}},{"after":{"merged_into":["i","8"],"status":["t","duplicate"]},"before":{"email":["t","di@example.com"],"id":["i","7"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 7"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","7"]]],"table":"customers"}}],"dataset":"customers","finding":"F-P79CFV","ignore_drift":[],"keeper":"[[\"n\",\"8\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"3384867f436e887b90bf29b4c30e23b38ae5c4e67f89f901e528b2cacd3f34ae","generation":1,"record":"[[\"n\",\"7\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"eefaac3fd7d12e72bb1f849b491b823c","source":"shop","table":"customers","target":"sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-02T00:02:13.802924Z','2026-12-09T00:02:13.802924Z',0,NULL,'2026-12-02T00:02:13.802924Z',0,'2026-12-02T00:02:13.802924Z',NULL,NULL,NULL,NULL);
INSERT INTO "plans" VALUES('P-LD3TL6QMCEQX','F-3XGRZ2','twins','customers','shop','sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','undo',NULL,'e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','4a33caeb6e823b616a629ce364c9258f64c1a03e1f40712a4a4d77011cbe3f85','P-NV2LLORGTCHC','succeeded',NULL,'{"action":"undo","binding":"","catalogue":"","changes":[{"after":{"merged_into":null,"status":["t","new"]},"before":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":["i","1"],"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","duplicate"]},"role":"surplus","row":{"key":[["id",["i","2"]]],"table":"customers"}}],"dataset":"customers","finding":"F-3XGRZ2","ignore_drift":[],"keeper":"[[\"n\",\"1\"]]","money":{},"operations":[{"effect":"set:merged_into,status.undo","fingerprint":"e642cc75f6850ef1698d8178da4812aee84152fc13f042e3fa8be56eb4233362","generation":1,"record":"[[\"n\",\"2\"]]"}],"origins":{},"references":[],"reversible":"no","rule":"twins","salt":"f760e56a00f04ba8062d7b53744c1ffc","source":"shop","table":"customers","target":"sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db","triggers":[],"undoes":"P-NV2LLORGTCHC","why":["an undo cannot be undone; reopen the finding and clean it again"]}','[{"after":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":null,"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","new"]}}]','{"effects":["set:merged_into,status.undo"],"table":"customers"}',1,1,'{}','no','none','root','2026-12-02T00:02:15.575966Z',NULL,1,NULL,'2026-12-02T00:03:15.745101Z',1,'2026-12-02T00:02:15.575966Z',NULL,NULL,'2026-12-02T00:02:15.745101Z','2026-12-02T00:02:15.788412Z');
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
INSERT INTO "record_ids" VALUES('customers','["id"]','["integer"]','2026-12-02T00:02:10.102418Z');
INSERT INTO "record_ids" VALUES('charges','["id"]','["text"]','2026-12-02T00:02:11.913377Z');
INSERT INTO "record_ids" VALUES('orders','["id"]','["text"]','2026-12-02T00:02:11.913377Z');
CREATE TABLE releases (
	hash TEXT NOT NULL, 
	config TEXT NOT NULL, 
	first_seen TEXT NOT NULL, 
	files TEXT, 
	CONSTRAINT pk_releases PRIMARY KEY (hash)
);
INSERT INTO "releases" VALUES('e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','{"channels":{"team":{"path":"messages.jsonl","type":"file"}},"datasets":{"charges":{"id":"id","money":{"amount":"amount","currency":"EUR"},"source":"shop","table":"charges"},"customers":{"id":"id","source":"shop","table":"customers"},"orders":{"id":"id","money":{"amount":"total","currency":"EUR"},"source":"shop","table":"orders"}},"guard":{"welcome":{}},"jobs":{"nightly":{"notify":["team"],"rules":"all"}},"rules":{"negative":{"dataset":"charges","kind":"check","where":"amount < 0"},"paid":{"compare":[{"left":"total","right":"amount"}],"key":[{"left":"id","right":"order_id"}],"kind":"reconciliation","left":"orders","right":"charges"},"persons":{"dataset":"customers","key":{"any":[["phone"],["name"]]},"kind":"duplicates","max_share":"100%"},"twins":{"clean":{"action":"set","values":{"merged_into":"{{ keeper.id }}","status":"duplicate"}},"dataset":"customers","keep":[{"first":"id"}],"key":[{"email":["trim","lower"]}],"kind":"duplicates","limits":{"records":"100","share":"100%"},"where":"status <> ''duplicate''"}},"sources":{"shop":{"type":"sql","url":"sqlite:///shop.db"}},"state":"sqlite:///state.db","version":"1"}','2026-12-02T00:02:09.364367Z','[["reconcile.yaml","version: 1\nstate: sqlite:///state.db\nsources:\n  shop:\n    type: sql\n    url: sqlite:///shop.db\ndatasets:\n  customers:\n    source: shop\n    table: customers\n    id: id\n  orders:\n    source: shop\n    table: orders\n    id: id\n    money:\n      amount: total\n      currency: EUR\n  charges:\n    source: shop\n    table: charges\n    id: id\n    money:\n      amount: amount\n      currency: EUR\nrules:\n  twins:\n    kind: duplicates\n    dataset: customers\n    key:\n      - email:\n          - trim\n          - lower\n    where: status <> ''duplicate''\n    keep:\n      - first: id\n    clean:\n      action: set\n      values:\n        status: duplicate\n        merged_into: \"{{ keeper.id }}\"\n    limits:\n      records: 100\n      share: 100%\n  persons:\n    kind: duplicates\n    dataset: customers\n    key:\n      any:\n        - - phone\n        - - name\n    max_share: 100%\n  paid:\n    kind: reconciliation\n    left: orders\n    right: charges\n    key:\n      - left: id\n        right: order_id\n    compare:\n      - left: total\n        right: amount\n  negative:\n    kind: check\n    dataset: charges\n    where: amount < 0\nchannels:\n  team:\n    type: file\n    path: messages.jsonl\njobs:\n  nightly:\n    rules: all\n    notify:\n      - team\nguard:\n  welcome: {}\n"]]');
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
INSERT INTO "rule_state" VALUES('twins','ba93d1775e063ab3c4bc4a413cc33aa72a6da7aab57eecbfb47647751ad3b112','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:10.118849Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:17.667102Z',NULL,'8daf5f624d1202ff8a011bdc18cae23c251e4d89016ce73c6a5b6514f230bd2f');
INSERT INTO "rule_state" VALUES('persons','6697642266c1d209d134050e2dadb193f1f833d07b57586db5fa61b233f7f150','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:10.959033Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:17.872292Z',NULL,NULL);
INSERT INTO "rule_state" VALUES('paid','e010e09295850fb3a848b5a34c9e6cbdc595377a1e8f59793400c4e67934fd2b','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:11.920136Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:18.776229Z',NULL,NULL);
INSERT INTO "rule_state" VALUES('negative','d187f92eafe0ac7cbd360ecd7e021c40e3a128d982fc360e28207b4a51d8fa2b','run1_ytxsbsio4nt3lzlysikyk6nxeq','2026-12-02T00:02:12.155361Z','run1_sxahg67qkueqfr3onvbzsym5ca','2026-12-02T00:02:19.002690Z',NULL,NULL);
CREATE TABLE run_rules (
	run TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	status TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	finished TEXT NOT NULL, 
	CONSTRAINT pk_run_rules PRIMARY KEY (run, rule), 
	CONSTRAINT fk_run_rules_run FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "run_rules" VALUES('run1_ytxsbsio4nt3lzlysikyk6nxeq','twins','done','{"cleaning":{"binding":"8daf5f624d1202ff8a011bdc18cae23c251e4d89016ce73c6a5b6514f230bd2f","cleaned":0,"failed":0,"proposed":4,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":8,"seconds":0.601,"severity":"medium","skipped":[]}','2026-12-02T00:02:12.952054Z');
INSERT INTO "run_rules" VALUES('run1_ytxsbsio4nt3lzlysikyk6nxeq','persons','done','{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.736,"severity":"medium","skipped":[]}','2026-12-02T00:02:10.959033Z');
INSERT INTO "run_rules" VALUES('run1_ytxsbsio4nt3lzlysikyk6nxeq','paid','done','{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-4.00"},"currency":"EUR","explained":"24.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"35.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"left_only":1,"mismatch":1,"right_only":2},"groups":4,"groups_before":[],"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"matched":2,"money":{"EUR":"41.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.871,"severity":"medium","skipped":[]}','2026-12-02T00:02:11.920136Z');
INSERT INTO "run_rules" VALUES('run1_ytxsbsio4nt3lzlysikyk6nxeq','negative','done','{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":1,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"condition":1},"groups":1,"groups_before":[],"in_words":["1 failing record"],"money":{"EUR":"3.00"},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.206,"severity":"medium","skipped":[]}','2026-12-02T00:02:12.155361Z');
INSERT INTO "run_rules" VALUES('run1_sxahg67qkueqfr3onvbzsym5ca','twins','done','{"cleaning":{"binding":"8daf5f624d1202ff8a011bdc18cae23c251e4d89016ce73c6a5b6514f230bd2f","cleaned":0,"failed":0,"proposed":0,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":1,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":2},"first_run":false,"groups":3,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":7,"seconds":0.475,"severity":"medium","skipped":[]}','2026-12-02T00:02:19.638794Z');
INSERT INTO "run_rules" VALUES('run1_sxahg67qkueqfr3onvbzsym5ca','persons','done','{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":4,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":0},"first_run":false,"groups":4,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.092,"severity":"medium","skipped":[]}','2026-12-02T00:02:17.872292Z');
INSERT INTO "run_rules" VALUES('run1_sxahg67qkueqfr3onvbzsym5ca','paid','done','{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-106.00"},"currency":"EUR","explained":"-77.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"137.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":2,"merged":0,"new":1,"reopened":0,"resolved":1,"settled":1},"first_run":false,"forms":{"mismatch":1,"right_only":2},"groups":4,"groups_before":[4],"in_words":["2 missing in orders","1 mismatch"],"matched":2,"money":{"EUR":"107.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.825,"severity":"medium","skipped":[]}','2026-12-02T00:02:18.776229Z');
INSERT INTO "run_rules" VALUES('run1_sxahg67qkueqfr3onvbzsym5ca','negative','done','{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":0,"reopened":0,"resolved":1,"settled":0},"first_run":false,"groups":0,"groups_before":[1],"money":{},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.14,"severity":"medium","skipped":[]}','2026-12-02T00:02:19.002690Z');
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
INSERT INTO "runs" VALUES('run1_ytxsbsio4nt3lzlysikyk6nxeq','nightly','2026-12-02T00:02:07.740395Z','e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','manual','succeeded',1,1,'2026-12-02T00:02:09.364367Z','2026-12-02T00:02:12.953850Z','{"attempt":1,"checked":["twins","persons","paid","negative"],"job":"nightly","messages":["msg1_552ea3b1d4d11fd491f9c4fe"],"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rules":[{"cleaning":{"binding":"8daf5f624d1202ff8a011bdc18cae23c251e4d89016ce73c6a5b6514f230bd2f","cleaned":0,"failed":0,"proposed":4,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":8,"seconds":0.601,"severity":"medium","skipped":[]},{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.736,"severity":"medium","skipped":[]},{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-4.00"},"currency":"EUR","explained":"24.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"35.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"left_only":1,"mismatch":1,"right_only":2},"groups":4,"groups_before":[],"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"matched":2,"money":{"EUR":"41.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.871,"severity":"medium","skipped":[]},{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":1,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"condition":1},"groups":1,"groups_before":[],"in_words":["1 failing record"],"money":{"EUR":"3.00"},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.206,"severity":"medium","skipped":[]}],"run":"run1_ytxsbsio4nt3lzlysikyk6nxeq","slot":"2026-12-02T00:02:07.740395Z","status":"succeeded"}');
INSERT INTO "runs" VALUES('run1_sxahg67qkueqfr3onvbzsym5ca','nightly','2026-12-02T00:02:17.107009Z','e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a','manual','succeeded',1,2,'2026-12-02T00:02:17.126423Z','2026-12-02T00:02:19.640375Z','{"attempt":1,"checked":["twins","persons","paid","negative"],"job":"nightly","messages":["msg1_b275956d55a4470808a33dc1"],"release":"e69f28aba2505e5cf522f719c035a993b4c3f1a1eab2c6906b16349de9bba80a","rules":[{"cleaning":{"binding":"8daf5f624d1202ff8a011bdc18cae23c251e4d89016ce73c6a5b6514f230bd2f","cleaned":0,"failed":0,"proposed":0,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":1,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":2},"first_run":false,"groups":3,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":7,"seconds":0.475,"severity":"medium","skipped":[]},{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":4,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":0},"first_run":false,"groups":4,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.092,"severity":"medium","skipped":[]},{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-106.00"},"currency":"EUR","explained":"-77.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"137.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":2,"merged":0,"new":1,"reopened":0,"resolved":1,"settled":1},"first_run":false,"forms":{"mismatch":1,"right_only":2},"groups":4,"groups_before":[4],"in_words":["2 missing in orders","1 mismatch"],"matched":2,"money":{"EUR":"107.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.825,"severity":"medium","skipped":[]},{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":0,"reopened":0,"resolved":1,"settled":0},"first_run":false,"groups":0,"groups_before":[1],"money":{},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.14,"severity":"medium","skipped":[]}],"run":"run1_sxahg67qkueqfr3onvbzsym5ca","slot":"2026-12-02T00:02:17.107009Z","status":"succeeded"}');
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
INSERT INTO "targets" VALUES('sqlite:27:181204:/dev/shm/tmplzj_oe3p/shop.db','shop',3,3,'2026-12-02T00:02:14.200064Z','2026-12-02T00:02:15.724334Z');
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
INSERT INTO "users" VALUES('ada','operator','$argon2id$v=19$m=65536,t=3,p=4$D4w5Q0MZQ5KJlFtBZj0vCQ$aeXZY0x1YVdEmejFSuq34zCx02o+nRCBNNsaactWs80',0,NULL,'2026-12-02T00:02:16.597208Z');
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
CREATE INDEX ix_slots_job_status_slot ON slots (job, status, slot);
CREATE INDEX ix_slots_status_start_at ON slots (status, start_at);
CREATE INDEX ix_remembered_dataset ON remembered (dataset);
CREATE INDEX ix_uncertain_pairs_rule ON uncertain_pairs (rule);
CREATE INDEX ix_presses_received_at ON presses (received_at);
CREATE INDEX ix_presses_status_next_at ON presses (status, next_at);
CREATE INDEX ix_keyed_requests_received_at ON keyed_requests (received_at);
CREATE INDEX ix_guarded_keys_state_keep_until_key ON guarded_keys (state, keep_until, "key");
CREATE INDEX ix_audit_subject ON audit (subject);
CREATE INDEX ix_attempts_since ON attempts (since);
CREATE INDEX ix_runs_job_status_fence ON runs (job, status, fence);
CREATE INDEX ix_runs_job_started ON runs (job, started);
CREATE INDEX ix_runs_started ON runs (started);
CREATE INDEX ix_audit_bodies_finding ON audit_bodies (finding);
CREATE INDEX ix_audit_bodies_run ON audit_bodies (run);
CREATE INDEX ix_tokens_user ON tokens (user);
CREATE INDEX ix_sessions_ends_at ON sessions (ends_at);
CREATE INDEX ix_sessions_user ON sessions (user);
CREATE INDEX ix_dataset_stats_dataset_rule_at ON dataset_stats (dataset, rule, at);
CREATE INDEX ix_findings_fingerprint ON findings (fingerprint);
CREATE INDEX ix_findings_rule_state_severity_amount_rank_first_seen_id ON findings (rule, state, severity, amount_rank, first_seen, id);
CREATE INDEX ix_findings_state_probability_first_seen_id ON findings (state, probability, first_seen, id) WHERE probability IS NOT NULL;
CREATE INDEX ix_findings_assigned_to ON findings (assigned_to);
CREATE INDEX ix_findings_state_severity_amount_rank_first_seen_id ON findings (state, severity, amount_rank, first_seen, id);
CREATE INDEX ix_anchors_status_next_at ON anchors (status, next_at);
CREATE INDEX ix_outbox_run ON outbox (run);
CREATE INDEX ix_outbox_status_next_at ON outbox (status, next_at);
CREATE INDEX ix_finding_aliases_finding ON finding_aliases (finding);
CREATE INDEX ix_finding_members_record ON finding_members (record);
CREATE INDEX ix_not_same_rule_record_b ON not_same (rule, record_b);
CREATE INDEX ix_not_same_finding ON not_same (finding);
CREATE INDEX ix_plans_rule_state ON plans (rule, state);
CREATE INDEX ix_plans_undoes ON plans (undoes);
CREATE INDEX ix_plans_run ON plans (run);
CREATE INDEX ix_plans_finding ON plans (finding);
CREATE INDEX ix_plans_state_source_next_at_id ON plans (state, source, next_at, id);
CREATE INDEX ix_shown_findings_finding ON shown_findings (finding);
CREATE INDEX ix_effects_plan ON effects ("plan");
CREATE INDEX ix_effects_ended_at ON effects (ended_at);
CREATE INDEX ix_effects_record_target_effect ON effects (record, target, effect);
CREATE INDEX ix_holds_plan ON holds ("plan");
CREATE INDEX ix_approvals_plan_hash ON approvals (plan_hash);
CREATE INDEX ix_limit_uses_run_rule ON limit_uses (run, rule);
CREATE INDEX ix_limit_uses_target_at ON limit_uses (target, at);
CREATE INDEX ix_limit_uses_rule_at ON limit_uses (rule, at);
COMMIT;
