PRAGMA application_id = 1380142668;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0020');
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
INSERT INTO "approvals" VALUES('P-7PVVPYXDP7TT','root','approved','ecac1d781f111c84b25e5304067db29314f7b1c9def7344d99588f59166b908c','2026-12-01T01:30:17.828549Z',NULL);
INSERT INTO "approvals" VALUES('P-AV3VK55BPYIQ','root','approved','285a6fc2df5a9a6222119f4f15a311a8fc56a9521dffd891d42a235f4af1083b','2026-12-01T01:30:18.226840Z',NULL);
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
INSERT INTO "audit" VALUES(1,'2026-12-01T01:30:14.697614Z','reconcile','finding.opened','63385db2ff22e4f520763838614337e03c156fa41efa7389d5361a39ada242ad','cf1605487b15c1d437f28e7f6de650bb601966a8e4017737a6a1602e9613892a','8c1e7a1491fe681a4a377e02d224b243be269c3816fa9d3c25a4e1437ad07fae','ac0b88ef880992a7e6c918d7b42e5e3a24133b294b95b0b4bcd97c048b9a8ae4');
INSERT INTO "audit" VALUES(2,'2026-12-01T01:30:14.697614Z','reconcile','finding.opened','a5cf3abbd0f7dbab601e833eac13cfbeb7ccb1619c5af96d3fc0ec27f36bec59','403cd4e87bf654f3582b8799a49f506436596174f03caa78ec20d52776ca2e76','ac0b88ef880992a7e6c918d7b42e5e3a24133b294b95b0b4bcd97c048b9a8ae4','0059dc1958c0d45da9bd1ec8f5a49ab90e99edda65dba57279280df1b916cf68');
INSERT INTO "audit" VALUES(3,'2026-12-01T01:30:14.697614Z','reconcile','finding.opened','91433023f6124958b69f6d731b6b6fac58f0bf91937e7f8814c43bf1486cf11c','0d1ab5e9c711acb14d9253c3cc74c6a4749922d7aa3819a98fca4a78832f1c9b','0059dc1958c0d45da9bd1ec8f5a49ab90e99edda65dba57279280df1b916cf68','32000c83e23af362c3a56ee470d0644d868a298091b742a29cf21f3626ac4ea1');
INSERT INTO "audit" VALUES(4,'2026-12-01T01:30:14.697614Z','reconcile','finding.opened','a800e23142c5f99eedd631e99e6a2b291e737f2046dfa0052bb0269e38aace45','6718998ea369749a874d4a7783b76102b7ba0b6640bc32d735e9c30700f1570a','32000c83e23af362c3a56ee470d0644d868a298091b742a29cf21f3626ac4ea1','e49ad58bb72fd6ba8de6081a820207b86b791de5541a7b9f3ac445b2f68d7856');
INSERT INTO "audit" VALUES(5,'2026-12-01T01:30:15.526942Z','reconcile','finding.opened','ed521b75354b93d01729bc2db13005d8258ee6766aaf5ba1a9a162da3b2037d8','cf57ac057eb2ed974de7e4291605b9dfdc2409e83e8c728ac307ab5440e0b957','e49ad58bb72fd6ba8de6081a820207b86b791de5541a7b9f3ac445b2f68d7856','8136c304e1b79eb791bd1bdb006794f92923780458a9e24bb36e9161056ead38');
INSERT INTO "audit" VALUES(6,'2026-12-01T01:30:15.526942Z','reconcile','finding.opened','a7636c7ac88fd7799b4bd0f3a42be3a46db5135ba66ae9485c8158e6339473b1','770fc671857e617e09c7c1556c75a8cf72733081deafa5819f768d4492f84877','8136c304e1b79eb791bd1bdb006794f92923780458a9e24bb36e9161056ead38','9ee2d6d48ca570d6036799281af51aca6c360d2a69491fcb5ec08471859640db');
INSERT INTO "audit" VALUES(7,'2026-12-01T01:30:15.526942Z','reconcile','finding.opened','0b5650796bddb1591907cb001fe1edead5dc546bd7742d078d0b1ace6f72790b','37e182f936f66e8e8265bb28fb29637c42de48fe2355a5fe0837e59d14166d0e','9ee2d6d48ca570d6036799281af51aca6c360d2a69491fcb5ec08471859640db','c4f96967d2c597e0ff05b27c6efc61be76b30f8509b0c1cfa70a3bfd6fd28750');
INSERT INTO "audit" VALUES(8,'2026-12-01T01:30:15.526942Z','reconcile','finding.opened','eb4d8c213190388043eec8c7a6a49e2660ca1faa011eae660c9c24361e7bab35','a8688097747b3869960f173ede4310a320502744b21f2eddc03eb028194fc230','c4f96967d2c597e0ff05b27c6efc61be76b30f8509b0c1cfa70a3bfd6fd28750','8805cde69cd08469342bf2e78ca7ccf85b6a2e0553bb907838a2e61a3202b7b3');
INSERT INTO "audit" VALUES(9,'2026-12-01T01:30:16.230492Z','reconcile','finding.opened','a6b1ad6cdbe7933c04aa491389bf06ec332ae4b68739f38b70e9a5e822d1f903','c02c5194a070ea2811e6061aae4adb56b667d19b1c9fbe2dfc1c1170e216dc26','8805cde69cd08469342bf2e78ca7ccf85b6a2e0553bb907838a2e61a3202b7b3','81839fbff1a6d1956256ee038872f33481dbc43cc12442b7ce49f8e29f7db60f');
INSERT INTO "audit" VALUES(10,'2026-12-01T01:30:16.230492Z','reconcile','finding.opened','dd4ea8133c17a005ae63dc4482ed511a8b79578d875459bca9e81c8979beae04','a675cc18bbc7ccccf4767b4e4c1537ab769b0cad68788025d77720b2d3db644b','81839fbff1a6d1956256ee038872f33481dbc43cc12442b7ce49f8e29f7db60f','256a3936a4663d3ca004a6f83185e382c759146e8b8c9c5a1a1361862c74ae50');
INSERT INTO "audit" VALUES(11,'2026-12-01T01:30:16.230492Z','reconcile','finding.opened','40f9041fcd4edfbc0c2bff22a342a65608cb156c5362c925f73bda25902faf00','726f01ba9f707cd1676434d69256c6ebf01231905b0509dedc31ceb5f616bf2f','256a3936a4663d3ca004a6f83185e382c759146e8b8c9c5a1a1361862c74ae50','e446c9a62838c74b3a8abfd9de64b13fed5fa8753124f22ec0b71a393c321931');
INSERT INTO "audit" VALUES(12,'2026-12-01T01:30:16.230492Z','reconcile','finding.opened','f4c84da5f1d01f0ddae88d9e1661a8d29e3277cbd58e16c79ede2e3ca0bf482a','58b23511fa3ef5bb73fd9ca6e724f749b8cff423b1a1c7c7ca8d6ac6319849d3','e446c9a62838c74b3a8abfd9de64b13fed5fa8753124f22ec0b71a393c321931','c4d576e788d1bc2f8184c1bf338c6eb6f01daaf7c2968ff2961e38e181a29590');
INSERT INTO "audit" VALUES(13,'2026-12-01T01:30:16.388753Z','reconcile','finding.opened','ff4e4f88f79560bdbebed1f107011314d9677f8974c40dbb516b240caa3f9c86','4e844a05b3c24627c813af70d85788dc2ec1b81c342c050ab0fa6c19e5f5aa18','c4d576e788d1bc2f8184c1bf338c6eb6f01daaf7c2968ff2961e38e181a29590','788423986307742133a0208fb21723c1949d7104b0a1cb557078acb5dc238c4c');
INSERT INTO "audit" VALUES(14,'2026-12-01T01:30:16.898450Z','reconcile','plan.proposed','ae1f7fed8a7f3bcd668ce0b5b849e8b8f302237ad5f6a75d23e0ae7f7d6a8c75','1efde30be684bd7e04b12c9964e30aa3a6027f8609ad56951a91a51d8a11ff76','788423986307742133a0208fb21723c1949d7104b0a1cb557078acb5dc238c4c','7b3e91003bcc53e579f36112cce0d8315ecc0b1563257cbba0a8b5a192679e69');
INSERT INTO "audit" VALUES(15,'2026-12-01T01:30:16.898450Z','reconcile','plan.proposed','1530180f97e168d5500908cd4c3962d026e19dec9b09927baa263bf1f171065c','d111d022773e70ee6560133e1beed3e733cef4601b3074be9b441892f39579d8','7b3e91003bcc53e579f36112cce0d8315ecc0b1563257cbba0a8b5a192679e69','09dd87875fbce6adbe85b60477ddefb34d7710789087d61378907b492115b3f8');
INSERT INTO "audit" VALUES(16,'2026-12-01T01:30:16.898450Z','reconcile','plan.proposed','07ed5ff422cefbf8f5b8804f2312011ecf4529e17e898599c75179ae2e2d02cf','10b775262e4af4825e62f7454b55b0a0bb738659cfbff5340ceaf4930a58d59f','09dd87875fbce6adbe85b60477ddefb34d7710789087d61378907b492115b3f8','8256ca1cc169ed465372a47a73e82d8f00bae8d0ce391b4da6822e6046a750a3');
INSERT INTO "audit" VALUES(17,'2026-12-01T01:30:16.898450Z','reconcile','plan.proposed','a361eb1ddacdfb45d4d1fad4cb2eff7dd8bb61a69f4a24141fa972b371cf1879','ea659080a76b10792509ad646c54898911feeac76cc453c50bacaa6fe7d67eff','8256ca1cc169ed465372a47a73e82d8f00bae8d0ce391b4da6822e6046a750a3','e356492c69b75166e461c8ab811b97ba154dc4a482b59dab181f942c03be2cdd');
INSERT INTO "audit" VALUES(18,'2026-12-01T01:30:16.997028Z','reconcile','message.queued','b6b08b8a6db4395061b5e237f2c44afe8572f448bf15e18f4fe479966847e5c8','6f232e3337ad567e38bc18fc780563b53a652dca5230250441222e0af2c1073f','e356492c69b75166e461c8ab811b97ba154dc4a482b59dab181f942c03be2cdd','9207cf34d6ce4f0b0db7f45d0f064558c78ac0ed8cd8138ed666e42196796912');
INSERT INTO "audit" VALUES(19,'2026-12-01T01:30:16.997028Z','reconcile','run.finished','b22eb9c4c6028b15af0b8cbce87cfab9cf1ffec1f575bb9df2f82972fcbf1042','7e62539b6c9d5a434864f78eefe262d560c14302ec1fe210af5f4ad2dd52b0b8','9207cf34d6ce4f0b0db7f45d0f064558c78ac0ed8cd8138ed666e42196796912','5a9a1952b756994fd8bbba0cd301834d108cf3cda9df9b7dbb17a1614fea4208');
INSERT INTO "audit" VALUES(20,'2026-12-01T01:30:17.061787Z','reconcile','message.sending','b6b08b8a6db4395061b5e237f2c44afe8572f448bf15e18f4fe479966847e5c8','d2448f8c680c87b28ee0955f85c01034ba9d8c46fe77aeb71aa2dfa5003277df','5a9a1952b756994fd8bbba0cd301834d108cf3cda9df9b7dbb17a1614fea4208','c5548e2a334964a7de2d69ee5dcdb6a1b730a035a98c8cfc21a9e7c222fb2050');
INSERT INTO "audit" VALUES(21,'2026-12-01T01:30:17.070495Z','reconcile','message.sent','b6b08b8a6db4395061b5e237f2c44afe8572f448bf15e18f4fe479966847e5c8','150aca6bc741776f6abd235741cb16a56a3124b121d81bc82eb8654e2f09cd02','c5548e2a334964a7de2d69ee5dcdb6a1b730a035a98c8cfc21a9e7c222fb2050','b489f96b1994680b2323ed143e93e7f40be12a5c1c1203283e17594bba4e3a54');
INSERT INTO "audit" VALUES(22,'2026-12-01T01:30:17.665779Z','root','finding.keeper_chosen','a5cf3abbd0f7dbab601e833eac13cfbeb7ccb1619c5af96d3fc0ec27f36bec59','fe928400407d3407590e0f002b12edf28b390b65d2e3fc33955cae1a5a2fa6ce','b489f96b1994680b2323ed143e93e7f40be12a5c1c1203283e17594bba4e3a54','209908ec4f1b5171ff8eb029d11c0906592145cffa1782e1ce421b59d7a7fb93');
INSERT INTO "audit" VALUES(23,'2026-12-01T01:30:17.665779Z','root','plan.skipped','1530180f97e168d5500908cd4c3962d026e19dec9b09927baa263bf1f171065c','1038ab544aa616303eea550e161a1ed1616dc3a0a6cf356ee8c35418f1e003ac','209908ec4f1b5171ff8eb029d11c0906592145cffa1782e1ce421b59d7a7fb93','c8b82bbe729b57f7e120a61f1a651222d251d73894fc0eeeb166c01b58f651c7');
INSERT INTO "audit" VALUES(24,'2026-12-01T01:30:17.665779Z','reconcile','plan.proposed','1522f94cb97815675ef4a5bff0c6a27fee554cdcf8f8c5189826545ec31b9d30','bf5f971e54e42e008a18b93a177f67ab4d6761bacf6c56a53a2a1dc2c5f18db9','c8b82bbe729b57f7e120a61f1a651222d251d73894fc0eeeb166c01b58f651c7','c6bd32cc2225ec4a56f316f484bcc604de0fdeb274758b8484eddbdebdb1b596');
INSERT INTO "audit" VALUES(25,'2026-12-01T01:30:17.828549Z','root','approval.approved','a361eb1ddacdfb45d4d1fad4cb2eff7dd8bb61a69f4a24141fa972b371cf1879','97211563f34c7c903ee61b077791423bfbe5de8be322076564f29f206b760a9e','c6bd32cc2225ec4a56f316f484bcc604de0fdeb274758b8484eddbdebdb1b596','f27a5b76c57712129db45a305078492c9927a7b912bba17a5366388ff35997c1');
INSERT INTO "audit" VALUES(26,'2026-12-01T01:30:17.828549Z','root','plan.approved','a361eb1ddacdfb45d4d1fad4cb2eff7dd8bb61a69f4a24141fa972b371cf1879','324e9547c103eca25726fe137c415a7d68cbad606bf1062f5bfeb6b207ddb6d1','f27a5b76c57712129db45a305078492c9927a7b912bba17a5366388ff35997c1','eca4e006771722ec008b7de7b5ef97daeb27152b1f52f3cd4f8a2b626e05e1f9');
INSERT INTO "audit" VALUES(27,'2026-12-01T01:30:17.917450Z','reconcile','target.first_seen','f00f6e81d8cba2f97257a86eeb525df87d7874f55d98568008d7344d1776509c','55ab70c0b4df541ed47ec79dabfda747ecce1895dd4b25da32f5e19f39d7ce5a','eca4e006771722ec008b7de7b5ef97daeb27152b1f52f3cd4f8a2b626e05e1f9','37d649c693ae21ff95b535f5b8fb393f1f8431db99bbfa628957dba8dd40f291');
INSERT INTO "audit" VALUES(28,'2026-12-01T01:30:18.188948Z','reconcile','operation.sent','a361eb1ddacdfb45d4d1fad4cb2eff7dd8bb61a69f4a24141fa972b371cf1879','f4db2b6b3ec7cd6bc74ed82159a6b8a4d063437904075b3f462ff49f6ca0b21c','37d649c693ae21ff95b535f5b8fb393f1f8431db99bbfa628957dba8dd40f291','d6fea0bce82df382e06f0c34ca70b0e8e7ece96b601b58c07bd00e5c797d6593');
INSERT INTO "audit" VALUES(29,'2026-12-01T01:30:18.205511Z','reconcile','operation.succeeded','a361eb1ddacdfb45d4d1fad4cb2eff7dd8bb61a69f4a24141fa972b371cf1879','476ca1f5d559324645c503885f609ef85a885a86e295c8d77fda8e78a3670d3b','d6fea0bce82df382e06f0c34ca70b0e8e7ece96b601b58c07bd00e5c797d6593','646ee6846471ede781607d9e1656af78c16c1889e0e4e490c414a0003bec60a5');
INSERT INTO "audit" VALUES(30,'2026-12-01T01:30:18.226840Z','root','approval.approved','07ed5ff422cefbf8f5b8804f2312011ecf4529e17e898599c75179ae2e2d02cf','b0c33e992a6789ad3a46a7052eff20c5a849c14dd4286f8a2895dd46bfa7cfeb','646ee6846471ede781607d9e1656af78c16c1889e0e4e490c414a0003bec60a5','5091e9a2e3c890e2b200ec25a6b3d6d0f7d080ea81481fb258bbc9a165765b4f');
INSERT INTO "audit" VALUES(31,'2026-12-01T01:30:18.226840Z','root','plan.approved','07ed5ff422cefbf8f5b8804f2312011ecf4529e17e898599c75179ae2e2d02cf','83c224fb8d8e9339e3eb32a72aa1b11426dd07477376b64125490dea7078069a','5091e9a2e3c890e2b200ec25a6b3d6d0f7d080ea81481fb258bbc9a165765b4f','153516a6a2ba511cd41a94388fbaf8f7ca919b80740ca9b2329f6934ed642271');
INSERT INTO "audit" VALUES(32,'2026-12-01T01:30:18.534465Z','reconcile','operation.sent','07ed5ff422cefbf8f5b8804f2312011ecf4529e17e898599c75179ae2e2d02cf','ada029d7e78e6250493e1eb098b00b4967e4b7650a686bcf922156677e23d225','153516a6a2ba511cd41a94388fbaf8f7ca919b80740ca9b2329f6934ed642271','266056d0334dca2b46f8a67ae49568742793354419263cac37206aa70d5477e0');
INSERT INTO "audit" VALUES(33,'2026-12-01T01:30:18.553100Z','reconcile','operation.succeeded','07ed5ff422cefbf8f5b8804f2312011ecf4529e17e898599c75179ae2e2d02cf','b730db4246d7ea9cf8a22f842a9fc4d2ee33f77ce5d4bb00b83caa1684c3753b','266056d0334dca2b46f8a67ae49568742793354419263cac37206aa70d5477e0','414866b58ef4da1e6af63a1030ca50e51e03b59b9ab47ebaa12bbd4e2ca27132');
INSERT INTO "audit" VALUES(34,'2026-12-01T01:30:18.662058Z','root','plan.proposed','84e76007817c30e6507217f2cc266430245792ed1c52c66626a1f48a49a25803','b8c9838c641e5750f13e67ae7c4c4f53d549c92f93098d7361da6ff6bdc06fc6','414866b58ef4da1e6af63a1030ca50e51e03b59b9ab47ebaa12bbd4e2ca27132','acabccee963270870f58dc4c024cb30907ca3d6f5db3f487700be6abc813893c');
INSERT INTO "audit" VALUES(35,'2026-12-01T01:30:18.778667Z','reconcile','operation.sent','84e76007817c30e6507217f2cc266430245792ed1c52c66626a1f48a49a25803','6a6a9a4854ac5e09360906a76ba533186f5250022bb3b68ecbd52aaac632de2a','acabccee963270870f58dc4c024cb30907ca3d6f5db3f487700be6abc813893c','beb5ebe6b273a8a054e4905a8d14863098595066f0da2597e0f9cfb5109dca8a');
INSERT INTO "audit" VALUES(36,'2026-12-01T01:30:18.810302Z','reconcile','operation.succeeded','84e76007817c30e6507217f2cc266430245792ed1c52c66626a1f48a49a25803','4d77556bf72fc1f5a8c7f688f5e3fcb367d7dfa02d792ffc415b0b35f7cef0e0','beb5ebe6b273a8a054e4905a8d14863098595066f0da2597e0f9cfb5109dca8a','275b0f4195dd904c01c6b46e605f58db28c94b9f4eeef42a14579b3b36d39caa');
INSERT INTO "audit" VALUES(37,'2026-12-01T01:30:18.936510Z','root','plan.skipped','ae1f7fed8a7f3bcd668ce0b5b849e8b8f302237ad5f6a75d23e0ae7f7d6a8c75','7c7d0d0e2c8ff6ebf33ce9074072a7bcd0c14b38b5fdcb3319d60debdc6f68ce','275b0f4195dd904c01c6b46e605f58db28c94b9f4eeef42a14579b3b36d39caa','a58a21434a9b5575924f43b53714cd8277cc736d04460ef4593c420610a0f517');
INSERT INTO "audit" VALUES(38,'2026-12-01T01:30:18.936510Z','root','finding.dismissed','63385db2ff22e4f520763838614337e03c156fa41efa7389d5361a39ada242ad','bc98d3afd817546e7d98eff621634c5a2eeee78afccc21c55c288326bfd55cff','a58a21434a9b5575924f43b53714cd8277cc736d04460ef4593c420610a0f517','e93427ad4a4206cec5b3ac415336e4cc570805abef613a888c5d66008ccb77aa');
INSERT INTO "audit" VALUES(39,'2026-12-01T01:30:19.082875Z','root','finding.snoozed','ed521b75354b93d01729bc2db13005d8258ee6766aaf5ba1a9a162da3b2037d8','5c6b4f9668b94d3b8e82ffdbf78d7aa4a16a98ba72f454b593a8d8f88a328f3f','e93427ad4a4206cec5b3ac415336e4cc570805abef613a888c5d66008ccb77aa','a0b1dbcc20207231ea3ac85a5d3f300399c1d1a14017839e47b2eec7890cf510');
INSERT INTO "audit" VALUES(40,'2026-12-01T01:30:19.150480Z','root','finding.assigned','a7636c7ac88fd7799b4bd0f3a42be3a46db5135ba66ae9485c8158e6339473b1','9bc23ec7443f77ea9bc3fe35692af0eab0b4434ff66874e6a5d0e05fee58c05d','a0b1dbcc20207231ea3ac85a5d3f300399c1d1a14017839e47b2eec7890cf510','3d359dc01de546af18477fb4002701dc5ff81560b27445c971d27c607eaf501f');
INSERT INTO "audit" VALUES(41,'2026-12-01T01:30:19.209058Z','root','finding.handled','a6b1ad6cdbe7933c04aa491389bf06ec332ae4b68739f38b70e9a5e822d1f903','ea773ae824dd9014009f93b1d85a6cbabf7f8a325596b97a67030e46a3864575','3d359dc01de546af18477fb4002701dc5ff81560b27445c971d27c607eaf501f','386f0cfbc6fd692ce646ebc0f531984ab795c0802dd22455540123f3655240f8');
INSERT INTO "audit" VALUES(42,'2026-12-01T01:30:19.280910Z','root','user.added','85d5028d22cde3b5f1231749614e10614baa3b5095daa86c3501388324c66720','a892428b8707145d6bd95b1bc661e4e374b1385ce62de987fedb814e2449cace','386f0cfbc6fd692ce646ebc0f531984ab795c0802dd22455540123f3655240f8','d275bf4e8bfb35033c0a4fcaf010d0ffa6208e64e1491e4b49c1d323042c3d25');
INSERT INTO "audit" VALUES(43,'2026-12-01T01:30:20.698333Z','reconcile','finding.resolved','f4c84da5f1d01f0ddae88d9e1661a8d29e3277cbd58e16c79ede2e3ca0bf482a','6ee2b9348ab6e0856917ed9d41cd22d1e79b82a1be1aebe2d2aad44d641f2931','d275bf4e8bfb35033c0a4fcaf010d0ffa6208e64e1491e4b49c1d323042c3d25','432c33280227f484513808d3b796cf495e3fbc7e7e2a0e0ed86ecc3db09317ec');
INSERT INTO "audit" VALUES(44,'2026-12-01T01:30:20.698333Z','reconcile','finding.opened','31d78df160e6bdf3165934ae310a80a76cea56027d05cca232c40517a8295f5a','d2c693748efd2fa40bb2d1db27fd21d616c2a98fe1cef83092d213e45686ce63','432c33280227f484513808d3b796cf495e3fbc7e7e2a0e0ed86ecc3db09317ec','a5511ec5926dae388a097024d680f3e32653cb866ce180a0ad0b64f199ce5612');
INSERT INTO "audit" VALUES(45,'2026-12-01T01:30:20.806171Z','reconcile','finding.resolved','ff4e4f88f79560bdbebed1f107011314d9677f8974c40dbb516b240caa3f9c86','db7e9fd3203619bc7a46d7407199679e9f56c48b1f320ee78148b59deb364aed','a5511ec5926dae388a097024d680f3e32653cb866ce180a0ad0b64f199ce5612','1a48c34f997295404d682a70bc2f785f6de167f5bf23e72fe56cf5f16340eb4e');
INSERT INTO "audit" VALUES(46,'2026-12-01T01:30:21.079191Z','reconcile','state.changed','5a46856396c09072bc9493b3778e516f87b91345ca296409d40dfd8abbe64c2e','2f0074d243f0ea2c4793ffa63453542dcaf1d1134bd12870881af0cea8dda164','1a48c34f997295404d682a70bc2f785f6de167f5bf23e72fe56cf5f16340eb4e','71f5a70171c5e3bf0fb67aeb4cec494f2ed1d88f13e747820873fb672e81071e');
INSERT INTO "audit" VALUES(47,'2026-12-01T01:30:21.147995Z','reconcile','message.queued','83b6f2b5d2c5d1d0d316b7c6419ccbef6f36e59331ccdac1f8a76e5d49b2c00d','4c8b23b1c11876b7dbfdec59c2656662cae87a4c76e329ac8bb376a71785e058','71f5a70171c5e3bf0fb67aeb4cec494f2ed1d88f13e747820873fb672e81071e','d84bca1c9f04afad75d78fcd73a6cb6e5a2822d22ddab002bf1a5e0d69c025e0');
INSERT INTO "audit" VALUES(48,'2026-12-01T01:30:21.147995Z','reconcile','run.finished','0b4814d7aae6feeba82a1f95736229dbc4896fd0dbdde5cb9c52cf27d6f7afcf','cb48f9618306ddc1613a4c4076428b81cb10639fa4fa02b8112a29e9e9b9300f','d84bca1c9f04afad75d78fcd73a6cb6e5a2822d22ddab002bf1a5e0d69c025e0','bc4ce46b9ffeb2b507d8a19e2bc4f8bfc8037b6cdb24fe4fbc8ab206d9c5b294');
INSERT INTO "audit" VALUES(49,'2026-12-01T01:30:21.228542Z','reconcile','message.sending','83b6f2b5d2c5d1d0d316b7c6419ccbef6f36e59331ccdac1f8a76e5d49b2c00d','706e80c4c2b9cac578ead4a11d24f6e3b500f364303ef333f8e8185877be4537','bc4ce46b9ffeb2b507d8a19e2bc4f8bfc8037b6cdb24fe4fbc8ab206d9c5b294','99cd1c223e9d6697f4e01e7ee0d5224b6b73836e5f710ae4ca45c9bc78a07ca1');
INSERT INTO "audit" VALUES(50,'2026-12-01T01:30:21.244689Z','reconcile','message.sent','83b6f2b5d2c5d1d0d316b7c6419ccbef6f36e59331ccdac1f8a76e5d49b2c00d','e78414f3eafab82c50654ae28a0ddb68f1658fd4047779cbfe12434b1a1f7e48','99cd1c223e9d6697f4e01e7ee0d5224b6b73836e5f710ae4ca45c9bc78a07ca1','118ad5ed23f3ffcf5cc7079a669793450b51fe83dad4d6634951e96da2c94e92');
CREATE TABLE audit_bodies (
	seq BIGINT NOT NULL, 
	salt TEXT NOT NULL, 
	body TEXT NOT NULL, 
	finding TEXT, 
	run TEXT, 
	CONSTRAINT pk_audit_bodies PRIMARY KEY (seq), 
	CONSTRAINT fk_audit_bodies_seq FOREIGN KEY(seq) REFERENCES audit (seq)
);
INSERT INTO "audit_bodies" VALUES(1,'a063bfae0ba595d207d371a8733d369f1c7c37a00024ed8ef1a5e8a86ad1fabf','{"facts":[["finding","F-24D41K",null,"12729b96123705e1bc047aa96c6a284f"],["rule","twins",null,"408663922795b2e1bd6c3b382e016923"]],"finding":"F-24D41K","from":null,"records":2,"rule":"twins","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"open","version":1}','F-24D41K','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(2,'6ab2db59c9bb0670076c33f29d2016a734930267aa31b360f4e2872e278de4de','{"facts":[["finding","F-95BSKE",null,"ba12a71f1d9827bed4ab09e0984217c3"]],"finding":"F-95BSKE","from":null,"records":2,"rule":"twins","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"open","version":1}','F-95BSKE','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(3,'9689ccfdabec1e690cd9236cdd00825b89acd3fc9e466d20a19159a1c22fb129','{"facts":[["finding","F-JFC98D",null,"7f361a82eff0bebc7c7552d02fd8bed8"]],"finding":"F-JFC98D","from":null,"records":2,"rule":"twins","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"open","version":1}','F-JFC98D','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(4,'df4c97f9983a00d6df8f25a0a8a62eeeed1b4f864f720ffb769e4f55cceda034','{"facts":[["finding","F-MY1A6Z",null,"9666863a12214cee4a9dfe2b7ee083c2"]],"finding":"F-MY1A6Z","from":null,"records":2,"rule":"twins","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"open","version":1}','F-MY1A6Z','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(5,'1a80038929e49fcccb6cedb1cbc466996db1ed86547367a649a563e4f10ccff5','{"facts":[["finding","F-1XDESH",null,"c696db33430be87bf07700d19477bb45"],["rule","persons",null,"d85b37260a1901f83483b0291eae5e5a"]],"finding":"F-1XDESH","from":null,"records":2,"rule":"persons","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"open","version":1}','F-1XDESH','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(6,'038b31ffe93642ca66ce4152dbe35b1fd286d84774c4adcb30bb34366fa903b7','{"facts":[["finding","F-HXMEHN",null,"ed546675e5b264bf9cd044aaf7a61feb"]],"finding":"F-HXMEHN","from":null,"records":2,"rule":"persons","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"open","version":1}','F-HXMEHN','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(7,'7924df6aa30f7977a36612e51bfae7a12f76c17239daf857bcb834d1d16b630f','{"facts":[["finding","F-J3HGX4",null,"935bdb78440dfb7a45ebc2af67b1f23f"]],"finding":"F-J3HGX4","from":null,"records":2,"rule":"persons","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"open","version":1}','F-J3HGX4','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(8,'aacc34823528bd17151bb6d5bce800251c528bbdd35ceaf9d11d4ee5144eb6af','{"facts":[["finding","F-MT1WWF",null,"ffaf46729ed77c8353f3f3ffd513420b"]],"finding":"F-MT1WWF","from":null,"records":2,"rule":"persons","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"open","version":1}','F-MT1WWF','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(9,'00ebb750474045225247dbd2562018aa3aa5aaa6d7d58b3de8ec3c91bd2439f8','{"facts":[["finding","F-4ARY0F",null,"e42d58331079dc48862e81fb01ed7fed"],["rule","paid",null,"a10ea7f68db7b2c29e8ab94f4217527a"]],"finding":"F-4ARY0F","from":null,"records":1,"rule":"paid","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"open","version":1}','F-4ARY0F','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(10,'a58bd057ef5862bc19b5fffe66fecb179932b372a81214105b1a0e923332bd7a','{"facts":[["finding","F-68ECBN",null,"be8a46e7496015cd7e799f937f878605"]],"finding":"F-68ECBN","from":null,"records":2,"rule":"paid","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"open","version":1}','F-68ECBN','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(11,'c5adc97e7b52a1e26074ac84a7b2998b731b2d2fa71f86fd2745cc08c2825ba5','{"facts":[["finding","F-RXE0FT",null,"3cbb3d25af6256fc529508ca77bea36b"]],"finding":"F-RXE0FT","from":null,"records":1,"rule":"paid","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"open","version":1}','F-RXE0FT','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(12,'50c3402e71846bc265ecd828415ed884b4c039c064b5c27fd6eeed24a1ba427a','{"facts":[["finding","F-S971JN",null,"48e76316815eccf7c5b12004e0b8c409"]],"finding":"F-S971JN","from":null,"records":1,"rule":"paid","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"open","version":1}','F-S971JN','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(13,'fb0c03865a8182cb26f6f2dd0ecf16467f5692ffde774a83f58b54164cfcd2ae','{"facts":[["finding","F-4ZJ9H8",null,"e4c85961edaaa7cc67957fa6c527fff0"],["rule","negative",null,"29b496af171a46ae39c90d044cd9219c"]],"finding":"F-4ZJ9H8","from":null,"records":1,"rule":"negative","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"open","version":1}','F-4ZJ9H8','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(14,'ee76c2e2959f7e240bfee60b91ed88c1f95405f3ec24eef0be9849f913b1144d','{"action":"set","also":[["finding","F-24D41K","open","awaiting_approval"]],"facts":[["finding","F-24D41K","12729b96123705e1bc047aa96c6a284f","97d24dbe4e7910727f0334cd009ddfcb"],["plan","P-QAHIRE2P6GPJ",null,"746384cb7f5bb68ef4313767c88c0979"],["limits","rule:twins",null,"0c5d9b663375aef3ddde5db77226a944"],["limits","target:sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db",null,"140c774f0963aa1d9d4c99abc4b40f44"]],"finding":"F-24D41K","from":null,"plan":"P-QAHIRE2P6GPJ","plan_hash":"9a51932704a8edc7861123cca72384907b7c1582dd8c372a0a18c12e8058d7b0","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_xphz2oa6qflweahexm7yeiwysq","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-24D41K','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(15,'56feed3ad820f1c8364c8b50916ec31491653844f63b636a1bed8479b9d69ba8','{"action":"set","also":[["finding","F-95BSKE","open","awaiting_approval"]],"facts":[["finding","F-95BSKE","ba12a71f1d9827bed4ab09e0984217c3","0c9e77b5be301576c768e50cbdfa8af3"],["plan","P-7AGXML2QWFWX",null,"ee71c62c41320b5f6336de1788c04369"]],"finding":"F-95BSKE","from":null,"plan":"P-7AGXML2QWFWX","plan_hash":"ea7d04264599a128055423f9a99e83e1b9ece160cc2b8e543805ddaac56d05a2","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_xphz2oa6qflweahexm7yeiwysq","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-95BSKE','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(16,'fde4212c9d4ac71416575fe099f026f6d495e8b050aa2a38386de1fc44401a64','{"action":"set","also":[["finding","F-JFC98D","open","awaiting_approval"]],"facts":[["finding","F-JFC98D","7f361a82eff0bebc7c7552d02fd8bed8","a87cb2dc72a926900116efff6be360c8"],["plan","P-AV3VK55BPYIQ",null,"acabb5feedeef27d9acfc537e46715ea"]],"finding":"F-JFC98D","from":null,"plan":"P-AV3VK55BPYIQ","plan_hash":"285a6fc2df5a9a6222119f4f15a311a8fc56a9521dffd891d42a235f4af1083b","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_xphz2oa6qflweahexm7yeiwysq","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-JFC98D','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(17,'c092a806fd09ed5b3f271314d007521429cb9d1ebc895adfd9bc6e42c2206764','{"action":"set","also":[["finding","F-MY1A6Z","open","awaiting_approval"]],"facts":[["finding","F-MY1A6Z","9666863a12214cee4a9dfe2b7ee083c2","92a6e191e597fe4bb64f56f55b44172b"],["plan","P-7PVVPYXDP7TT",null,"ca7cb8ec1fa5470953370e4b1be8d456"]],"finding":"F-MY1A6Z","from":null,"plan":"P-7PVVPYXDP7TT","plan_hash":"ecac1d781f111c84b25e5304067db29314f7b1c9def7344d99588f59166b908c","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_xphz2oa6qflweahexm7yeiwysq","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-MY1A6Z','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(18,'06264d88e38968552bd0517efaa78e45c4f0e9a3727f88cadcaa2fd1e0faaae9','{"channel":"team","facts":[["rule","twins","408663922795b2e1bd6c3b382e016923","28729ee2ba0c2718b168892d6ece4082"]],"message":"msg1_05f5e3f97d911c6a01a28a69","run":"run1_xphz2oa6qflweahexm7yeiwysq"}',NULL,'run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(19,'586922d6f9411e3dc8a4e99b6df6afbb2f8cbf6648f64fc63e8407918d0d9001','{"attempt":1,"failed":[],"job":"nightly","release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":["twins","persons","paid","negative"],"run":"run1_xphz2oa6qflweahexm7yeiwysq","slot":"2026-12-01T01:30:11.512950Z","started":"2026-12-01T01:30:14.075536Z","status":"succeeded","trigger":"manual"}',NULL,'run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(20,'43efb55becdf6499058cfc551b5aeb12e5ffb60bed51c1a6bd66ccf4a582f7a4','{"attempt":1,"channel":"team","message":"msg1_05f5e3f97d911c6a01a28a69","outcome_unknown":false,"run":"run1_xphz2oa6qflweahexm7yeiwysq"}',NULL,'run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(21,'b4b33be0b3164d55b57791c0e7a0e605006aa28397ec8c699991620b80be9cba','{"attempt":1,"channel":"team","found":false,"message":"msg1_05f5e3f97d911c6a01a28a69","receipt":{"details":{"notice":"msg1_05f5e3f97d911c6a01a28a69"},"where":"file messages.jsonl"},"run":"run1_xphz2oa6qflweahexm7yeiwysq"}',NULL,'run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(22,'a4aae0470ef1d7eb4b7e9bbe7c2efcb89fd23a0ab066f3725d43e4625fd99e4f','{"facts":[["finding","F-95BSKE","0c9e77b5be301576c768e50cbdfa8af3","e0b0a8a45b9335741280bad10ea95f5f"],["limits","rule:twins","0c5d9b663375aef3ddde5db77226a944","7b371225d9f18c9863e148933b778425"],["limits","target:sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db","140c774f0963aa1d9d4c99abc4b40f44","76cfc5d4761e1591147e6aa30f9568ef"]],"finding":"F-95BSKE","note":"the newer address","record":"481ec19368fd0f777af3fbf7e1ae1c8d","records":2,"rule":"twins","version":3}','F-95BSKE',NULL);
INSERT INTO "audit_bodies" VALUES(23,'d01369b12b56678d43ce9e1b143d0362b7c375e814c486f556e05a6e5ab52a24','{"facts":[["plan","P-7AGXML2QWFWX","ee71c62c41320b5f6336de1788c04369","d5df31384b936130c8c79773836f765c"]],"fence":0,"finding":"F-95BSKE","from":"awaiting_approval","plan":"P-7AGXML2QWFWX","reason":"root chose another keeper","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"skipped"}','F-95BSKE','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(24,'31a734ce28b3681c76de68a0dc159eabb862b8af4dff0b05899fc944436cdd80','{"action":"set","facts":[["plan","P-IDUBYQU7QZVD",null,"86d671815faaffdca969c3dd31c9fc82"]],"finding":"F-95BSKE","from":null,"plan":"P-IDUBYQU7QZVD","plan_hash":"c691db7494630734fc3497f05df2dcfc58665185d48477a38d6350461119e5f4","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":null,"to":"awaiting_approval","undoes":null}','F-95BSKE',NULL);
INSERT INTO "audit_bodies" VALUES(25,'1d8ab4685f637a4e9682b27c1a1f209ae441a1dd1854d5de5feca495106515de','{"by":"root","decision":"approved","facts":[["finding","F-MY1A6Z","92a6e191e597fe4bb64f56f55b44172b","ecc10d3f552c2932e7f5c0d84d2781f9"],["plan","P-7PVVPYXDP7TT","ca7cb8ec1fa5470953370e4b1be8d456","30508b6be0e5d94fe94bdae4312a6bb5"]],"finding":"F-MY1A6Z","plan":"P-7PVVPYXDP7TT","plan_hash":"ecac1d781f111c84b25e5304067db29314f7b1c9def7344d99588f59166b908c","system":"root@vm","was":null}','F-MY1A6Z',NULL);
INSERT INTO "audit_bodies" VALUES(26,'8b14f09d04e4eb0aef8642a80bb7098f103677716155f7215d4c0599657fc918','{"also":[["finding","F-MY1A6Z","awaiting_approval","approved"]],"fence":0,"finding":"F-MY1A6Z","from":"awaiting_approval","plan":"P-7PVVPYXDP7TT","run":"run1_xphz2oa6qflweahexm7yeiwysq","story":"finding.approved","to":"approved"}','F-MY1A6Z','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(27,'96763c160cfef9965d9c1cb42864bb0fc0a4bf376a4e3d8a91319d348d14cb98','{"source":"shop","target":"sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db"}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(28,'95e0f24ae1e7d1c0b99310eccfb81055769eb17e4f81174861370b7239e88b32','{"also":[["finding","F-MY1A6Z","approved","cleaning"]],"attempt":1,"facts":[["plan","P-7PVVPYXDP7TT","30508b6be0e5d94fe94bdae4312a6bb5","941610cadc79d6f5bdc14487814ff291"]],"fence":1,"finding":"F-MY1A6Z","from":"approved","keys":["rk1.qkywz3.ufa6lekipt57ffdepuhxkul6wiaranpp4el5dlwo4ogaicydw2ja"],"plan":"P-7PVVPYXDP7TT","run":"run1_xphz2oa6qflweahexm7yeiwysq","story":"finding.cleaning","to":"sent"}','F-MY1A6Z','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(29,'9526e75b4658428199f74447fcaf3dfac7464bdf0d63640ffe335e1e3c9afe77','{"also":[["finding","F-MY1A6Z","cleaning","cleaned"]],"facts":[["finding","F-MY1A6Z","ecc10d3f552c2932e7f5c0d84d2781f9","a921443fd436ff8a0491539bd4f987d8"],["plan","P-7PVVPYXDP7TT","941610cadc79d6f5bdc14487814ff291","5d75fd5a1421209810fe9d3ce68af2c5"]],"fence":1,"finding":"F-MY1A6Z","from":"sent","plan":"P-7PVVPYXDP7TT","run":"run1_xphz2oa6qflweahexm7yeiwysq","story":"finding.cleaned","to":"succeeded"}','F-MY1A6Z','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(30,'0b7c8578b7b2f4b2d0bfb9faf22a8f9b3ec77864d7dcd632382e4c0870366b0c','{"by":"root","decision":"approved","facts":[["finding","F-JFC98D","a87cb2dc72a926900116efff6be360c8","ab2c7c776330ea1cd2e68c7b56038338"],["plan","P-AV3VK55BPYIQ","acabb5feedeef27d9acfc537e46715ea","9404bf2d1064839ddef1d1f5725ecdb6"]],"finding":"F-JFC98D","plan":"P-AV3VK55BPYIQ","plan_hash":"285a6fc2df5a9a6222119f4f15a311a8fc56a9521dffd891d42a235f4af1083b","system":"root@vm","was":null}','F-JFC98D',NULL);
INSERT INTO "audit_bodies" VALUES(31,'6ced3e3cf242e67f87e81d7d4e337444436b256f7a3b5ede79d8e93decb2789b','{"also":[["finding","F-JFC98D","awaiting_approval","approved"]],"fence":0,"finding":"F-JFC98D","from":"awaiting_approval","plan":"P-AV3VK55BPYIQ","run":"run1_xphz2oa6qflweahexm7yeiwysq","story":"finding.approved","to":"approved"}','F-JFC98D','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(32,'d814f586c414b22f9870986ee242ba97bc2ea61ec2848ad3b8ee010b489dec47','{"also":[["finding","F-JFC98D","approved","cleaning"]],"attempt":1,"facts":[["plan","P-AV3VK55BPYIQ","9404bf2d1064839ddef1d1f5725ecdb6","1b5f92dbe030f97300ea93b5243d1370"]],"fence":1,"finding":"F-JFC98D","from":"approved","keys":["rk1.qkywz3.b3p5dclk6ybnr7dhlwrxpyh2vg6ir5mqdcloz63yyyemcuyjoa6a"],"plan":"P-AV3VK55BPYIQ","run":"run1_xphz2oa6qflweahexm7yeiwysq","story":"finding.cleaning","to":"sent"}','F-JFC98D','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(33,'9ab58d2da475ec4ba3e1ab0bc28c955e08ad3cc0fef08cd403dc8daf7bcd752e','{"also":[["finding","F-JFC98D","cleaning","cleaned"]],"facts":[["finding","F-JFC98D","ab2c7c776330ea1cd2e68c7b56038338","40ac5596f82373b4a3102e9c7de68819"],["plan","P-AV3VK55BPYIQ","1b5f92dbe030f97300ea93b5243d1370","e1c722e6dd42f6e9c6dd1af9a56f70b7"]],"fence":1,"finding":"F-JFC98D","from":"sent","plan":"P-AV3VK55BPYIQ","run":"run1_xphz2oa6qflweahexm7yeiwysq","story":"finding.cleaned","to":"succeeded"}','F-JFC98D','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(34,'0cc0d82fe0743eae71fcf018ba1c765904345607f080ae41786921db508afe20','{"action":"undo","facts":[["plan","P-UTJNV6YBG2WR",null,"c4703818e92b0695731958d4a9c9a165"]],"finding":"F-MY1A6Z","from":null,"plan":"P-UTJNV6YBG2WR","plan_hash":"2da1421fdc42c58e9d1e253f1203a9cef613a3fb07bfcbf4b56ac9532c606e58","policy":"none","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":null,"to":"approved","undoes":"P-7PVVPYXDP7TT"}','F-MY1A6Z',NULL);
INSERT INTO "audit_bodies" VALUES(35,'8229a5ac732306be5ce39e0e8376159a7429caa24e5f52899084800c994cb245','{"also":[["plan","P-7PVVPYXDP7TT","succeeded","compensating"]],"attempt":1,"facts":[["plan","P-UTJNV6YBG2WR","c4703818e92b0695731958d4a9c9a165","0c8d279770f7aacd3d22428ed6e93710"]],"fence":1,"finding":"F-MY1A6Z","from":"approved","keys":["rk1.qkywz3.lbjejirvefs5yxpih4zvw3z4zrrldztx3lfghq5yb5vvgm7z7bga"],"plan":"P-UTJNV6YBG2WR","run":null,"to":"sent"}','F-MY1A6Z',NULL);
INSERT INTO "audit_bodies" VALUES(36,'b4ce0f6c8b6ed241db42409bfb52931e8e85bbce5d13146f4d8d0053e935049c','{"also":[["plan","P-7PVVPYXDP7TT","compensating","compensated"],["finding","F-MY1A6Z","cleaned","undone"]],"facts":[["finding","F-MY1A6Z","a921443fd436ff8a0491539bd4f987d8","178a885006f458cb5acf7ef2414193c1"],["plan","P-UTJNV6YBG2WR","0c8d279770f7aacd3d22428ed6e93710","efbd9edf885780a525c34dc2b09d79a1"]],"fence":1,"finding":"F-MY1A6Z","from":"sent","plan":"P-UTJNV6YBG2WR","run":null,"story":"finding.undone","to":"succeeded"}','F-MY1A6Z',NULL);
INSERT INTO "audit_bodies" VALUES(37,'8964eeb10cf5342ac2039be081b504ba84c4e2db4836e150129e9c0dd8eb6bd9','{"facts":[["finding","F-24D41K","97d24dbe4e7910727f0334cd009ddfcb","8261677f67e02da413b3b7ef5a7e4d4d"],["plan","P-QAHIRE2P6GPJ","746384cb7f5bb68ef4313767c88c0979","e90bb999756f34a2d238eb7e689fe544"],["limits","rule:twins","7b371225d9f18c9863e148933b778425","99a2170565c48ba8680fa71150e83b47"],["limits","target:sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db","76cfc5d4761e1591147e6aa30f9568ef","eaf1cfcc2492b779c0aa03aec67767fd"]],"fence":0,"finding":"F-24D41K","from":"awaiting_approval","plan":"P-QAHIRE2P6GPJ","reason":"dismissed by root","run":"run1_xphz2oa6qflweahexm7yeiwysq","to":"skipped"}','F-24D41K','run1_xphz2oa6qflweahexm7yeiwysq');
INSERT INTO "audit_bodies" VALUES(38,'d0e43408b32e30d527e3524b610385982f6ab568840349ea0a68b70962b3c1e5','{"finding":"F-24D41K","from":"awaiting_approval","note":"two people","pairs":1,"records":2,"rule":"twins","to":"dismissed","version":2}','F-24D41K',NULL);
INSERT INTO "audit_bodies" VALUES(39,'227905f0ea75cd1214e324ae2daf69e00bc638b8e506a30c4bf3025043f01c93','{"facts":[["finding","F-1XDESH","c696db33430be87bf07700d19477bb45","d7208494698786d19ac3d918c0253fe7"]],"finding":"F-1XDESH","from":"open","records":2,"rule":"persons","to":"snoozed","until":"2999-01-01 00:00 UTC","version":1}','F-1XDESH',NULL);
INSERT INTO "audit_bodies" VALUES(40,'67e19ab920317ab533b98af549ec6386357ee8f2565b6664ff8614278aeb31da','{"facts":[["finding","F-HXMEHN","ed546675e5b264bf9cd044aaf7a61feb","32ea7c855ec5f4742522f6267488982f"]],"finding":"F-HXMEHN","rule":"persons","whom":"bob"}','F-HXMEHN',NULL);
INSERT INTO "audit_bodies" VALUES(41,'110bd9633f777dcefb860b823585713d8811c7eb339f78dea8e6a97d2559374d','{"facts":[["finding","F-4ARY0F","e42d58331079dc48862e81fb01ed7fed","f3ab83edb6577b4150d12c4c60ecdb8f"]],"finding":"F-4ARY0F","from":"open","note":"refunded","pairs":0,"records":1,"rule":"paid","to":"handled","version":1}','F-4ARY0F',NULL);
INSERT INTO "audit_bodies" VALUES(42,'cd197959e40d239a2bd53002a1c6ca71a5c260dc931c78585a03c127a0db2305','{"facts":[["user","ada",null,"ba9f1a0961b12f6737075e728df03d7a"]],"role":"operator","sees_personal":false,"user":"ada"}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(43,'dec097aca51d32391b7df2aa5a83c83797db600fa1586c9e99e9318ee61790b5','{"facts":[["finding","F-S971JN","48e76316815eccf7c5b12004e0b8c409","164db2d7d83b47aa589c93bf3f066150"]],"finding":"F-S971JN","from":"open","records":1,"rule":"paid","run":"run1_ehqxqaniyjhyk2i6ujun7oqhue","to":"resolved","version":1,"why":"its records no longer match"}','F-S971JN','run1_ehqxqaniyjhyk2i6ujun7oqhue');
INSERT INTO "audit_bodies" VALUES(44,'27440dd12c47c18eb3d84cebcc70673644d0198a4e9cfdc2f0b37cf5cde87610','{"facts":[["finding","F-TRE607",null,"50c2d9dcf9a9dbda3e2c85ead8db5f53"]],"finding":"F-TRE607","from":null,"records":1,"rule":"paid","run":"run1_ehqxqaniyjhyk2i6ujun7oqhue","to":"open","version":1}','F-TRE607','run1_ehqxqaniyjhyk2i6ujun7oqhue');
INSERT INTO "audit_bodies" VALUES(45,'9f75948f22229d913da688d7d95686179f81cfa0e47a200a6e255fd1bb97bab2','{"facts":[["finding","F-4ZJ9H8","e4c85961edaaa7cc67957fa6c527fff0","f95db3d37037084599033dadc5759b6b"]],"finding":"F-4ZJ9H8","from":"open","records":1,"rule":"negative","run":"run1_ehqxqaniyjhyk2i6ujun7oqhue","to":"resolved","version":1,"why":"its records no longer match"}','F-4ZJ9H8','run1_ehqxqaniyjhyk2i6ujun7oqhue');
INSERT INTO "audit_bodies" VALUES(46,'a516f39b265cf178649a988d235f09eb889430e789614adba72cfca76782bf16','{"facts":[["limits","rule:twins","99a2170565c48ba8680fa71150e83b47","22b5851b7050217fb2357b234c129362"],["limits","target:sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db","eaf1cfcc2492b779c0aa03aec67767fd","e54c9281a9bf4e00d939c6400e0d96a0"],["plan","P-IDUBYQU7QZVD","86d671815faaffdca969c3dd31c9fc82","58923345ae12bd4ef765ec6263fce34a"]]}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(47,'b7c45d2171b732238fbc948c8229b712df52602758fe596380bd52725f54c222','{"channel":"team","message":"msg1_fea31896a81aef9f4c683f29","run":"run1_ehqxqaniyjhyk2i6ujun7oqhue"}',NULL,'run1_ehqxqaniyjhyk2i6ujun7oqhue');
INSERT INTO "audit_bodies" VALUES(48,'f7729bb32a28c99e854c2a6d16bb3816d62651073b53dd7f8fcdd6707e84154d','{"attempt":1,"failed":[],"job":"nightly","release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":["twins","persons","paid","negative"],"run":"run1_ehqxqaniyjhyk2i6ujun7oqhue","slot":"2026-12-01T01:30:19.700507Z","started":"2026-12-01T01:30:19.742649Z","status":"succeeded","trigger":"manual"}',NULL,'run1_ehqxqaniyjhyk2i6ujun7oqhue');
INSERT INTO "audit_bodies" VALUES(49,'037b6cc4082b7b5f4bde89a5eebf6c77bf66825fffd01a9dd6a6590eadfd6ddb','{"attempt":1,"channel":"team","message":"msg1_fea31896a81aef9f4c683f29","outcome_unknown":false,"run":"run1_ehqxqaniyjhyk2i6ujun7oqhue"}',NULL,'run1_ehqxqaniyjhyk2i6ujun7oqhue');
INSERT INTO "audit_bodies" VALUES(50,'09f44b4fea2c10e1d93cfbbb83444b69dd47766aeefb5b907e8aa48bb8774b3c','{"attempt":1,"channel":"team","found":false,"message":"msg1_fea31896a81aef9f4c683f29","receipt":{"details":{"notice":"msg1_fea31896a81aef9f4c683f29"},"where":"file messages.jsonl"},"run":"run1_ehqxqaniyjhyk2i6ujun7oqhue"}',NULL,'run1_ehqxqaniyjhyk2i6ujun7oqhue');
CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	head TEXT NOT NULL, 
	CONSTRAINT pk_audit_head PRIMARY KEY (id), 
	CONSTRAINT ck_audit_head_one_row CHECK (id = 1)
);
INSERT INTO "audit_head" VALUES(1,50,'118ad5ed23f3ffcf5cc7079a669793450b51fe83dad4d6634951e96da2c94e92');
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
INSERT INTO "checkpoints" VALUES(21,1,'b489f96b1994680b2323ed143e93e7f40be12a5c1c1203283e17594bba4e3a54','2026-12-01T01:30:17.161028Z','93b16776175abaf061256520d40c632e37318057c1c53911b32afe8fe93928de','b6f6397cd714fbc59f49dc49a1f317ca6b439bcfd58df2b94d98a274fa741fdae66d4d2e15fe17931f8d6870429ccd795514f60f696b50e2603c767235624107');
INSERT INTO "checkpoints" VALUES(24,1,'c6bd32cc2225ec4a56f316f484bcc604de0fdeb274758b8484eddbdebdb1b596','2026-12-01T01:30:17.745466Z','93b16776175abaf061256520d40c632e37318057c1c53911b32afe8fe93928de','13e1fc5a60e0cdb883484ac8cd6f0425b50e60bc3a158ead53784af61b90bced0643591f3e24f7eae0ce103008d36207a2e6e4d6f97d6d7e28262cfc79d06b06');
INSERT INTO "checkpoints" VALUES(33,1,'414866b58ef4da1e6af63a1030ca50e51e03b59b9ab47ebaa12bbd4e2ca27132','2026-12-01T01:30:18.584678Z','93b16776175abaf061256520d40c632e37318057c1c53911b32afe8fe93928de','48c90d12ca663d474c3dff74261071f83f25e4de8fc2a0ebfd1d55d73fa4856b27a87a96ca3526540a4da45e4acbfd95e956ba652f354490cd720cdd72788d07');
INSERT INTO "checkpoints" VALUES(36,1,'275b0f4195dd904c01c6b46e605f58db28c94b9f4eeef42a14579b3b36d39caa','2026-12-01T01:30:18.883793Z','93b16776175abaf061256520d40c632e37318057c1c53911b32afe8fe93928de','7d3c307408b106707cfe4f1029cf0bcd3d43411a8a0211a3668db533540753a44a812f25f27658ef2584e364bc8402f70e411485aa0020dd87188f02848d060e');
INSERT INTO "checkpoints" VALUES(50,1,'118ad5ed23f3ffcf5cc7079a669793450b51fe83dad4d6634951e96da2c94e92','2026-12-01T01:30:21.258343Z','93b16776175abaf061256520d40c632e37318057c1c53911b32afe8fe93928de','9fabaa4f1dd08f1578b28529ecae820a6e3e738d3f95545fe7ea90a9ab024ad4282a771c57b5aa2b8d7c4958adc9b73e515b0cb588a0d99da941a7742df0560e');
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
INSERT INTO "dataset_schemas" VALUES('customers','twins','1e25c805782bdb4a8494d66807fb20b12c66ed294a8079cc2f1ac0983bc976c7','{"groups":[["run1_xphz2oa6qflweahexm7yeiwysq",4],["run1_ehqxqaniyjhyk2i6ujun7oqhue",3]],"previous":{"bare":{},"cleaned":0,"empty":{},"groups":4,"lacking":{"email":0.0,"id":0.0,"status":0.0},"members":8,"read":8,"rule":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","run":"run1_xphz2oa6qflweahexm7yeiwysq","types":{"email":"text","id":"integer","merged_into":"integer","name":"text","phone":"text","status":"text"},"used":["email","id","merged_into","status"]},"shape":{"bare":{},"cleaned":0,"empty":{},"groups":3,"lacking":{"email":0.0,"id":0.0,"status":0.0},"members":6,"read":8,"rule":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","run":"run1_ehqxqaniyjhyk2i6ujun7oqhue","types":{"email":"text","id":"integer","merged_into":"integer","name":"text","phone":"text","status":"text"},"used":["email","id","merged_into","status"]},"waiting":null}','2026-12-01T01:30:20.064896Z');
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
INSERT INTO "dataset_stats" VALUES('customers','twins','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:14.697614Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('customers','persons','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:15.526942Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('orders','paid','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.230492Z',3,3,0,4);
INSERT INTO "dataset_stats" VALUES('charges','paid','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.230492Z',4,4,0,4);
INSERT INTO "dataset_stats" VALUES('charges','negative','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.388753Z',4,4,0,1);
INSERT INTO "dataset_stats" VALUES('customers','twins','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.064896Z',8,7,0,3);
INSERT INTO "dataset_stats" VALUES('customers','persons','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.184152Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('orders','paid','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.698333Z',3,3,0,4);
INSERT INTO "dataset_stats" VALUES('charges','paid','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.698333Z',4,4,0,4);
INSERT INTO "dataset_stats" VALUES('charges','negative','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.806171Z',4,4,0,0);
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
INSERT INTO "effects" VALUES('rk1.qkywz3.ufa6lekipt57ffdepuhxkul6wiaranpp4el5dlwo4ogaicydw2ja','P-7PVVPYXDP7TT','sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','set:merged_into,status','0471876556abc280eab925a678e018177a8b07edf77bb8150cfcd645e4985ed5',1,'6b7055d108d684ba83df7ba35943294af280132312d19154fd58c05ad12ffc53','compensated',0,'2026-12-01T01:30:18.188948Z','2026-12-01T01:30:18.205511Z');
INSERT INTO "effects" VALUES('rk1.qkywz3.b3p5dclk6ybnr7dhlwrxpyh2vg6ir5mqdcloz63yyyemcuyjoa6a','P-AV3VK55BPYIQ','sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','set:merged_into,status','be3b883f09ab8dbed953ea35b7916e24b946b8fe929d2f7796db062d9ea14d20',1,'c861b92247ba1cc2202c4a15b0e1091ea6d4a06f3138e1241f0e843ae0098d31','succeeded',0,'2026-12-01T01:30:18.534465Z','2026-12-01T01:30:18.553100Z');
INSERT INTO "effects" VALUES('rk1.qkywz3.lbjejirvefs5yxpih4zvw3z4zrrldztx3lfghq5yb5vvgm7z7bga','P-UTJNV6YBG2WR','sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','set:merged_into,status.undo','0471876556abc280eab925a678e018177a8b07edf77bb8150cfcd645e4985ed5',1,'2df223c2249ef1b508c7e35fff5e77f1186965074cd2833a98840d4e0628ac7e','succeeded',0,'2026-12-01T01:30:18.778667Z','2026-12-01T01:30:18.810302Z');
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
INSERT INTO "facts" VALUES('finding','F-24D41K','8261677f67e02da413b3b7ef5a7e4d4d');
INSERT INTO "facts" VALUES('finding','F-95BSKE','e0b0a8a45b9335741280bad10ea95f5f');
INSERT INTO "facts" VALUES('finding','F-JFC98D','40ac5596f82373b4a3102e9c7de68819');
INSERT INTO "facts" VALUES('finding','F-MY1A6Z','178a885006f458cb5acf7ef2414193c1');
INSERT INTO "facts" VALUES('rule','twins','28729ee2ba0c2718b168892d6ece4082');
INSERT INTO "facts" VALUES('finding','F-1XDESH','d7208494698786d19ac3d918c0253fe7');
INSERT INTO "facts" VALUES('finding','F-HXMEHN','32ea7c855ec5f4742522f6267488982f');
INSERT INTO "facts" VALUES('finding','F-J3HGX4','935bdb78440dfb7a45ebc2af67b1f23f');
INSERT INTO "facts" VALUES('finding','F-MT1WWF','ffaf46729ed77c8353f3f3ffd513420b');
INSERT INTO "facts" VALUES('rule','persons','d85b37260a1901f83483b0291eae5e5a');
INSERT INTO "facts" VALUES('finding','F-4ARY0F','f3ab83edb6577b4150d12c4c60ecdb8f');
INSERT INTO "facts" VALUES('finding','F-68ECBN','be8a46e7496015cd7e799f937f878605');
INSERT INTO "facts" VALUES('finding','F-RXE0FT','3cbb3d25af6256fc529508ca77bea36b');
INSERT INTO "facts" VALUES('finding','F-S971JN','164db2d7d83b47aa589c93bf3f066150');
INSERT INTO "facts" VALUES('rule','paid','a10ea7f68db7b2c29e8ab94f4217527a');
INSERT INTO "facts" VALUES('finding','F-4ZJ9H8','f95db3d37037084599033dadc5759b6b');
INSERT INTO "facts" VALUES('rule','negative','29b496af171a46ae39c90d044cd9219c');
INSERT INTO "facts" VALUES('plan','P-7AGXML2QWFWX','d5df31384b936130c8c79773836f765c');
INSERT INTO "facts" VALUES('plan','P-7PVVPYXDP7TT','5d75fd5a1421209810fe9d3ce68af2c5');
INSERT INTO "facts" VALUES('plan','P-AV3VK55BPYIQ','e1c722e6dd42f6e9c6dd1af9a56f70b7');
INSERT INTO "facts" VALUES('plan','P-QAHIRE2P6GPJ','e90bb999756f34a2d238eb7e689fe544');
INSERT INTO "facts" VALUES('limits','rule:twins','22b5851b7050217fb2357b234c129362');
INSERT INTO "facts" VALUES('limits','target:sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','e54c9281a9bf4e00d939c6400e0d96a0');
INSERT INTO "facts" VALUES('plan','P-IDUBYQU7QZVD','58923345ae12bd4ef765ec6263fce34a');
INSERT INTO "facts" VALUES('plan','P-UTJNV6YBG2WR','efbd9edf885780a525c34dc2b09d79a1');
INSERT INTO "facts" VALUES('user','ada','ba9f1a0961b12f6737075e728df03d7a');
INSERT INTO "facts" VALUES('finding','F-TRE607','50c2d9dcf9a9dbda3e2c85ead8db5f53');
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
INSERT INTO "finding_aliases" VALUES('8d0867d1f301957fc530ec9ada71c6413d4e0356e111d5f4578cb7fe8bf104d5','F-24D41K','2026-12-01T01:30:14.697614Z');
INSERT INTO "finding_aliases" VALUES('d77034a138293c079229cccc8ab5148a1ff7c179c35013e14165e5cb598a5048','F-95BSKE','2026-12-01T01:30:14.697614Z');
INSERT INTO "finding_aliases" VALUES('137cf716af983dad57cae9dad9897219da3f84fe0f7ca16d9633f433dadae2bc','F-JFC98D','2026-12-01T01:30:14.697614Z');
INSERT INTO "finding_aliases" VALUES('7b78eed930f265771e152d5be132faf6a6979eb2cdf4073177837cc6581742c3','F-MY1A6Z','2026-12-01T01:30:14.697614Z');
INSERT INTO "finding_aliases" VALUES('0a20151e72ec0d5de32aacb69a026ba5dfc1f33f0f5346f384234164cc8e5357','F-1XDESH','2026-12-01T01:30:15.526942Z');
INSERT INTO "finding_aliases" VALUES('7f80b75f46db68efc66ab0186d2dbc910635a0901d2bbc14b37c8ef5a8df26bd','F-HXMEHN','2026-12-01T01:30:15.526942Z');
INSERT INTO "finding_aliases" VALUES('c8005c8f81e4564a0d5105828a02754bfad90e2457c46cc11fe28fae37d22bcf','F-J3HGX4','2026-12-01T01:30:15.526942Z');
INSERT INTO "finding_aliases" VALUES('4de1127e30e667b660741382ba4887787791903f7d29ed11dbff41c013f6f298','F-MT1WWF','2026-12-01T01:30:15.526942Z');
INSERT INTO "finding_aliases" VALUES('e6be0250e6a167f7c8a4b4ad09ab4b19c14f2a447611e58d190d68d7865d86e6','F-4ARY0F','2026-12-01T01:30:16.230492Z');
INSERT INTO "finding_aliases" VALUES('cde5ffef6644b8d5fcdc4893c022ea7c19026f894f92051f9cbfb9ce974c9784','F-68ECBN','2026-12-01T01:30:16.230492Z');
INSERT INTO "finding_aliases" VALUES('6cf4c4403c4ad7c3c91ec17679af2587450d5b6e598cbcd95410d74d2cda5a74','F-RXE0FT','2026-12-01T01:30:16.230492Z');
INSERT INTO "finding_aliases" VALUES('fee42b732737579d256fc8949f537ed39d92ff1a01edc2197e881558b1ce26ae','F-S971JN','2026-12-01T01:30:16.230492Z');
INSERT INTO "finding_aliases" VALUES('8844f17012983db39e6a72a011555afe8ffcb90c228e74e2b97c86edbbea3889','F-4ZJ9H8','2026-12-01T01:30:16.388753Z');
INSERT INTO "finding_aliases" VALUES('d690e314d68d87444246c277eccbe914cee2dd0ae0822749439057d1fa36cd43','F-TRE607','2026-12-01T01:30:20.698333Z');
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
INSERT INTO "finding_members" VALUES('F-24D41K','[["n","5"]]',0,'keeper','[["email",["t","cy@example.com"]],["id",["z","5"]]]','2026-12-01T01:30:14.697614Z','2026-12-01T01:30:18.936510Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-24D41K','[["n","6"]]',1,'surplus','[["email",["t","cy@example.com"]],["id",["z","6"]]]','2026-12-01T01:30:14.697614Z','2026-12-01T01:30:18.936510Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-95BSKE','[["n","7"]]',0,'keeper','[["email",["t","di@example.com"]],["id",["z","7"]]]','2026-12-01T01:30:14.697614Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-95BSKE','[["n","8"]]',1,'surplus','[["email",["t","di@example.com"]],["id",["z","8"]]]','2026-12-01T01:30:14.697614Z',NULL,'root','2026-12-01T01:30:17.665779Z',NULL);
INSERT INTO "finding_members" VALUES('F-JFC98D','[["n","3"]]',0,'keeper','[["email",["t","bob@example.com"]],["id",["z","3"]]]','2026-12-01T01:30:14.697614Z','2026-12-01T01:30:18.553100Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-JFC98D','[["n","4"]]',1,'surplus','[["email",["t","BOB@example.com"]],["id",["z","4"]]]','2026-12-01T01:30:14.697614Z','2026-12-01T01:30:18.553100Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-MY1A6Z','[["n","1"]]',0,'keeper','[["email",["t","ada@example.com"]],["id",["z","1"]]]','2026-12-01T01:30:14.697614Z','2026-12-01T01:30:18.205511Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-MY1A6Z','[["n","2"]]',1,'surplus','[["email",["t"," Ada@example.com"]],["id",["z","2"]]]','2026-12-01T01:30:14.697614Z','2026-12-01T01:30:18.205511Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-1XDESH','[["n","1"]]',0,'keeper','[["phone",["t","+49 1"]],["name",["t","Ada Byron"]]]','2026-12-01T01:30:15.526942Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-1XDESH','[["n","2"]]',1,'surplus','[["phone",["t","+49 1"]],["name",["t","A. Byron"]]]','2026-12-01T01:30:15.526942Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-HXMEHN','[["n","7"]]',0,'keeper','[["phone",["t","+49 7"]],["name",["t","Di Poe"]]]','2026-12-01T01:30:15.526942Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-HXMEHN','[["n","8"]]',1,'surplus','[["phone",["t","+49 8"]],["name",["t","Di Poe"]]]','2026-12-01T01:30:15.526942Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-J3HGX4','[["n","5"]]',0,'keeper','[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','2026-12-01T01:30:15.526942Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-J3HGX4','[["n","6"]]',1,'surplus','[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','2026-12-01T01:30:15.526942Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-MT1WWF','[["n","3"]]',0,'keeper','[["phone",["t","+49 3"]],["name",["t","Bob Roe"]]]','2026-12-01T01:30:15.526942Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-MT1WWF','[["n","4"]]',1,'surplus','[["phone",["t","+49 4"]],["name",["t","Bob Roe"]]]','2026-12-01T01:30:15.526942Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-4ARY0F','[["t","C"]]',0,'left','[["id",["t","C"]],["total",["n","30.00"]]]','2026-12-01T01:30:16.230492Z','2026-12-01T01:30:19.209058Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-68ECBN','[["t","B"]]',0,'left','[["id",["t","B"]],["total",["n","20.00"]]]','2026-12-01T01:30:16.230492Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-68ECBN','[["@","charges"],["t","c2"]]',1,'right','[["order_id",["t","B"]],["amount",["n","21.50"]]]','2026-12-01T01:30:16.230492Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-RXE0FT','[["@","charges"],["t","c3"]]',0,'right','[["order_id",["t","D"]],["amount",["n","7.00"]]]','2026-12-01T01:30:16.230492Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-S971JN','[["@","charges"],["t","c4"]]',0,'right','[["order_id",["t","E"]],["amount",["n","-3.00"]]]','2026-12-01T01:30:16.230492Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-4ZJ9H8','[["t","c4"]]',0,'record','[["amount",["n","-3.00"]]]','2026-12-01T01:30:16.388753Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-TRE607','[["@","charges"],["t","c5"]]',0,'right','[["order_id",["t","F"]],["amount",["n","99.00"]]]','2026-12-01T01:30:20.698333Z',NULL,NULL,NULL,NULL);
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
	CONSTRAINT pk_findings PRIMARY KEY (id), 
	CONSTRAINT fk_findings_first_run FOREIGN KEY(first_run) REFERENCES runs (id), 
	CONSTRAINT fk_findings_last_run FOREIGN KEY(last_run) REFERENCES runs (id), 
	CONSTRAINT fk_findings_merged_into FOREIGN KEY(merged_into) REFERENCES findings (id)
);
INSERT INTO "findings" VALUES('F-24D41K','8d0867d1f301957fc530ec9ada71c6413d4e0356e111d5f4578cb7fe8bf104d5','twins','duplicates','customers','dismissed',3,2,'[["email",["t","cy@example.com"]]]','{"change":"new","decided":"dismissed","reason":null,"settled_key":[["email",["t","cy@example.com"]]],"span":null,"summary":true}','{}',2,'run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:14.697614Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.064896Z','2026-12-01T01:30:18.936510Z',NULL,NULL,'root','two people',NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-95BSKE','d77034a138293c079229cccc8ab5148a1ff7c179c35013e14165e5cb598a5048','twins','duplicates','customers','awaiting_approval',3,3,'[["email",["t","di@example.com"]]]','{"change":"new","reason":null,"span":null,"summary":true}','{}',2,'run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:14.697614Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.064896Z','2026-12-01T01:30:17.665779Z',NULL,NULL,NULL,'the newer address',NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-JFC98D','137cf716af983dad57cae9dad9897219da3f84fe0f7ca16d9633f433dadae2bc','twins','duplicates','customers','cleaned',3,2,'[["email",["t","bob@example.com"]]]','{"change":"new","reason":null,"settled_key":[["email",["t","bob@example.com"]]],"span":null,"summary":true}','{}',2,'run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:14.697614Z','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:14.697614Z','2026-12-01T01:30:18.553100Z',NULL,NULL,'root',NULL,NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-MY1A6Z','7b78eed930f265771e152d5be132faf6a6979eb2cdf4073177837cc6581742c3','twins','duplicates','customers','undone',3,2,'[["email",["t","ada@example.com"]]]','{"change":"new","decided":"undone","not_undone":null,"reason":null,"settled_key":[["email",["t","ada@example.com"]]],"span":null,"summary":true}','{}',2,'run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:14.697614Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.064896Z','2026-12-01T01:30:18.810302Z',NULL,NULL,'root',NULL,NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-1XDESH','0a20151e72ec0d5de32aacb69a026ba5dfc1f33f0f5346f384234164cc8e5357','persons','duplicates','customers','snoozed',3,1,'[["phone",["t","+49 1"]]]','{"change":"new","judged":[["@by phone",["t","+49 1"]]],"links":[[0,1,[0],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:15.526942Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.184152Z','2026-12-01T01:30:19.082875Z','2999-01-01T00:00:00.000000Z',NULL,'root',NULL,NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-HXMEHN','7f80b75f46db68efc66ab0186d2dbc910635a0901d2bbc14b37c8ef5a8df26bd','persons','duplicates','customers','open',3,1,'[["name",["t","Di Poe"]]]','{"change":"new","judged":[["@by name",["t","Di Poe"]]],"links":[[0,1,[1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:15.526942Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.184152Z','2026-12-01T01:30:15.526942Z',NULL,'bob',NULL,NULL,NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-J3HGX4','c8005c8f81e4564a0d5105828a02754bfad90e2457c46cc11fe28fae37d22bcf','persons','duplicates','customers','open',3,1,'[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','{"change":"new","judged":[["@by phone",["t","+49 5"]],["@by name",["t","Cy Doe"]]],"links":[[0,1,[0,1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:15.526942Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.184152Z','2026-12-01T01:30:15.526942Z',NULL,NULL,NULL,NULL,NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-MT1WWF','4de1127e30e667b660741382ba4887787791903f7d29ed11dbff41c013f6f298','persons','duplicates','customers','open',3,1,'[["name",["t","Bob Roe"]]]','{"change":"new","judged":[["@by name",["t","Bob Roe"]]],"links":[[0,1,[1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:15.526942Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.184152Z','2026-12-01T01:30:15.526942Z',NULL,NULL,NULL,NULL,NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-4ARY0F','e6be0250e6a167f7c8a4b4ad09ab4b19c14f2a447611e58d190d68d7865d86e6','paid','reconciliation','orders','handled',3,1,'[["id",["t","C"]]]','{"change":"new","datasets":["orders","charges"],"decided":"handled","decided_money":{"EUR":"30.00"},"differing":[],"form":"left_only","form_reason":null,"judged":[["id",["t","C"]],["@form",["t","left_only"]],["@at risk EUR",["n","30.00"]]],"peaks":[["@at risk EUR","30.00"]],"reason":null,"settled_key":[["id",["t","C"]],["@form",["t","left_only"]],["@at risk EUR",["n","30.00"]]],"span":null,"summary":true}','{"EUR":"30.00"}',1,'run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.230492Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.698333Z','2026-12-01T01:30:19.209058Z',NULL,NULL,'root','refunded',NULL,NULL,-30.0);
INSERT INTO "findings" VALUES('F-68ECBN','cde5ffef6644b8d5fcdc4893c022ea7c19026f894f92051f9cbfb9ce974c9784','paid','reconciliation','orders','open',3,1,'[["id",["t","B"]]]','{"change":"new","datasets":["orders","charges"],"differing":[["total / amount",["n","20.00"],["n","21.50"],"total","amount"]],"form":"mismatch","form_reason":null,"judged":[["id",["t","B"]],["@form",["t","mismatch"]],["@at risk EUR",["n","1.50"]],["@left total",["n","20.00"]],["@right amount",["n","21.50"]]],"peaks":[["@at risk EUR","1.50"],["total / amount","1.50"]],"reason":null,"span":null,"summary":true}','{"EUR":"-1.50"}',2,'run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.230492Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.698333Z','2026-12-01T01:30:16.230492Z',NULL,NULL,NULL,NULL,NULL,NULL,-1.5);
INSERT INTO "findings" VALUES('F-RXE0FT','6cf4c4403c4ad7c3c91ec17679af2587450d5b6e598cbcd95410d74d2cda5a74','paid','reconciliation','orders','open',3,1,'[["id",["t","D"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","D"]],["@form",["t","right_only"]],["@at risk EUR",["n","7.00"]]],"peaks":[["@at risk EUR","7.00"]],"reason":null,"span":null,"summary":true}','{"EUR":"-7.00"}',1,'run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.230492Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.698333Z','2026-12-01T01:30:16.230492Z',NULL,NULL,NULL,NULL,NULL,NULL,-7.0);
INSERT INTO "findings" VALUES('F-S971JN','fee42b732737579d256fc8949f537ed39d92ff1a01edc2197e881558b1ce26ae','paid','reconciliation','orders','resolved',3,1,'[["id",["t","E"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","E"]],["@form",["t","right_only"]],["@at risk EUR",["n","3.00"]]],"peaks":[["@at risk EUR","3.00"]],"reason":"its records no longer match","span":null,"summary":true}','{"EUR":"3.00"}',1,'run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.230492Z','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.230492Z','2026-12-01T01:30:20.698333Z',NULL,NULL,NULL,NULL,NULL,NULL,-3.0);
INSERT INTO "findings" VALUES('F-4ZJ9H8','8844f17012983db39e6a72a011555afe8ffcb90c228e74e2b97c86edbbea3889','negative','check','charges','resolved',3,1,'[["id",["t","c4"]],["amount",["n","-3.00"]]]','{"change":"new","form":"condition","judged":[["id",["t","c4"]],["amount",["n","-3.00"]]],"peaks":[["@at risk EUR","3.00"]],"reason":"its records no longer match","span":null,"summary":true}','{"EUR":"-3.00"}',1,'run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.388753Z','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.388753Z','2026-12-01T01:30:20.806171Z',NULL,NULL,NULL,NULL,NULL,NULL,-3.0);
INSERT INTO "findings" VALUES('F-TRE607','d690e314d68d87444246c277eccbe914cee2dd0ae0822749439057d1fa36cd43','paid','reconciliation','orders','open',3,1,'[["id",["t","F"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","F"]],["@form",["t","right_only"]],["@at risk EUR",["n","99.00"]]],"peaks":[["@at risk EUR","99.00"]],"reason":null,"span":null,"summary":false}','{"EUR":"-99.00"}',1,'run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.698333Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.698333Z','2026-12-01T01:30:20.698333Z',NULL,NULL,NULL,NULL,NULL,NULL,-99.0);
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
INSERT INTO "leases" VALUES('job:nightly',NULL,2,'2026-12-01T01:30:21.219353Z','2026-12-01T01:30:19.713758Z');
INSERT INTO "leases" VALUES('compaction',NULL,0,'2026-12-02T01:30:17.101393Z','2026-12-01T01:30:17.101393Z');
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
INSERT INTO "limit_uses" VALUES('P-7PVVPYXDP7TT','twins','sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.898450Z',1,'{}');
INSERT INTO "limit_uses" VALUES('P-AV3VK55BPYIQ','twins','sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.898450Z',1,'{}');
INSERT INTO "limit_uses" VALUES('P-IDUBYQU7QZVD','twins','sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:21.079191Z',1,'{}');
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
INSERT INTO "limits" VALUES('target:sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db',NULL,NULL,'2026-12-01T01:30:21.079191Z',3,'{}','run1_ehqxqaniyjhyk2i6ujun7oqhue',1,'{}');
INSERT INTO "limits" VALUES('rule:twins',NULL,NULL,'2026-12-01T01:30:21.079191Z',3,'{}','run1_ehqxqaniyjhyk2i6ujun7oqhue',1,'{}');
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
INSERT INTO "meta" VALUES(1,'st_375e2f0b58e29f26dad0d22f245da73b',1,'0020','eb39b7855faf8b794de91b03f1888e893a44c1955b2f40da4f1118bf6f4bf52a','2026-12-01T01:30:14.047074Z');
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
INSERT INTO "not_same" VALUES('twins','[["n","1"]]','[["n","2"]]','[["email",["t","ada@example.com"]]]','[["email",["t","ada@example.com"]]]','F-MY1A6Z','reconcile','2026-12-01T01:30:18.810302Z',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "not_same" VALUES('twins','[["n","5"]]','[["n","6"]]','[["email",["t","cy@example.com"]]]','[["email",["t","cy@example.com"]]]','F-24D41K','root','2026-12-01T01:30:18.936510Z','two people',NULL,NULL,NULL,NULL);
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
INSERT INTO "notified" VALUES('F-4ARY0F','team',1,'msg1_05f5e3f97d911c6a01a28a69','2026-12-01T01:30:16.997028Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-RXE0FT','team',1,'msg1_05f5e3f97d911c6a01a28a69','2026-12-01T01:30:16.997028Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-S971JN','team',1,'msg1_05f5e3f97d911c6a01a28a69','2026-12-01T01:30:16.997028Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-4ZJ9H8','team',1,'msg1_05f5e3f97d911c6a01a28a69','2026-12-01T01:30:16.997028Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-68ECBN','team',1,'msg1_05f5e3f97d911c6a01a28a69','2026-12-01T01:30:16.997028Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-1XDESH','team',1,'msg1_05f5e3f97d911c6a01a28a69','2026-12-01T01:30:16.997028Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-HXMEHN','team',1,'msg1_05f5e3f97d911c6a01a28a69','2026-12-01T01:30:16.997028Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-J3HGX4','team',1,'msg1_05f5e3f97d911c6a01a28a69','2026-12-01T01:30:16.997028Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-MT1WWF','team',1,'msg1_05f5e3f97d911c6a01a28a69','2026-12-01T01:30:16.997028Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-24D41K','team',2,'msg1_05f5e3f97d911c6a01a28a69','2026-12-01T01:30:16.997028Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-95BSKE','team',3,'msg1_05f5e3f97d911c6a01a28a69','2026-12-01T01:30:16.997028Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-JFC98D','team',2,'msg1_05f5e3f97d911c6a01a28a69','2026-12-01T01:30:16.997028Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-MY1A6Z','team',2,'msg1_05f5e3f97d911c6a01a28a69','2026-12-01T01:30:16.997028Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-TRE607','team',1,'msg1_fea31896a81aef9f4c683f29','2026-12-01T01:30:21.147995Z',NULL,NULL,NULL);
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
INSERT INTO "outbox" VALUES('msg1_05f5e3f97d911c6a01a28a69','team','nightly','run1_xphz2oa6qflweahexm7yeiwysq','{"id":"msg1_05f5e3f97d911c6a01a28a69","job":"nightly","run":"run1_xphz2oa6qflweahexm7yeiwysq","slot":"2026-12-01T01:30:11.512950Z","rules":[{"rule":"twins","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":4,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"persons","severity":"medium","dataset":"customers","new":4,"grown":0,"reopened":0,"known":0,"resolved":0,"records":4,"money":{},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-1XDESH","state":"new","key":{"phone":"+49 1"},"keeper":"1","surplus":["2"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-HXMEHN","state":"new","key":{"name":"Di Poe"},"keeper":"7","surplus":["8"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-J3HGX4","state":"new","key":{"phone":"+49 5","name":"Cy Doe"},"keeper":"5","surplus":["6"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-MT1WWF","state":"new","key":{"name":"Bob Roe"},"keeper":"3","surplus":["4"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"paid","severity":"medium","dataset":"orders","new":4,"grown":0,"reopened":0,"known":0,"resolved":0,"records":0,"money":{"EUR":"41.50"},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-4ARY0F","state":"new","key":{"id":"C"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"30.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"left_only","in_words":"missing in charges","left":["orders C"],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-RXE0FT","state":"new","key":{"id":"D"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"7.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c3"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-S971JN","state":"new","key":{"id":"E"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"3.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c4"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-68ECBN","state":"new","key":{"id":"B"},"keeper":"","surplus":[],"records":2,"money":{"EUR":"1.50"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"mismatch","in_words":"values differ","left":["orders B"],"right":["charges c2"],"differences":[{"column":"total / amount","left":"20.00","right":"21.50","apart":"by 1.50"}],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"reconciliation","datasets":["orders","charges"],"nouns":["discrepancy","discrepancies"],"forms":{"left_only":1,"mismatch":1,"right_only":2},"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"balance":[{"currency":"EUR","left":"60.00","right":"35.50","matched":"0.00","explained":"24.50","not_yet_due":"0","by_form":{"missing in charges":"30.00","missing in orders":"-4.00","values differ":"-1.50"},"not_reported":"0"}],"undecided":0,"first_message":false},{"rule":"negative","severity":"medium","dataset":"charges","new":1,"grown":0,"reopened":0,"known":0,"resolved":0,"records":0,"money":{"EUR":"3.00"},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-4ZJ9H8","state":"new","key":{"id":"c4","amount":"-3.00"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"3.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"condition","in_words":"amount is less than 0","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":"c4"}],"skipped":[],"kind":"check","datasets":[],"nouns":["failing record","failing records"],"forms":{"condition":1},"in_words":["1 failing record"],"balance":[],"undecided":0,"first_message":false}],"failures":[],"link":null,"test":false,"since":null,"created":"2026-12-01T01:30:16.997028Z","timezone":"UTC","trouble":null,"cleaning":[{"rule":"twins","severity":"medium","dataset":"customers","awaiting":4,"quarantined":0,"failed":0,"cleaned":0,"stale":0,"waiting":0,"money":{},"stopped":null,"undo":null,"findings":[{"finding":"F-24D41K","state":"awaiting_approval","key":{"email":"cy@example.com"},"keeper":"5","surplus":["6"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"9a51932704a8edc7861123cca72384907b7c1582dd8c372a0a18c12e8058d7b0","plan_does":"mark 1 record","plan_expires":"2026-12-08T01:30:16.898450Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-95BSKE","state":"awaiting_approval","key":{"email":"di@example.com"},"keeper":"7","surplus":["8"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"ea7d04264599a128055423f9a99e83e1b9ece160cc2b8e543805ddaac56d05a2","plan_does":"mark 1 record","plan_expires":"2026-12-08T01:30:16.898450Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-JFC98D","state":"awaiting_approval","key":{"email":"bob@example.com"},"keeper":"3","surplus":["4"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"285a6fc2df5a9a6222119f4f15a311a8fc56a9521dffd891d42a235f4af1083b","plan_does":"mark 1 record","plan_expires":"2026-12-08T01:30:16.898450Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-MY1A6Z","state":"awaiting_approval","key":{"email":"ada@example.com"},"keeper":"1","surplus":["2"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"ecac1d781f111c84b25e5304067db29314f7b1c9def7344d99588f59166b908c","plan_does":"mark 1 record","plan_expires":"2026-12-08T01:30:16.898450Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"owner":null,"not_undone":0,"next_run":null,"runbook":null,"undone":0,"undos_waiting":0,"expired":0,"void":0,"withdrawn":0,"waits_for":null,"doubt":null,"plans":[]}],"project":null,"escalation":null,"fallback_of":null}',1,'sent',1,'2026-12-01T01:30:16.997028Z','2026-12-01T01:30:16.997028Z','2026-12-04T01:30:16.997028Z',1,NULL,'2026-12-01T01:35:17.061787Z',0,NULL,'{"details":{"notice":"msg1_05f5e3f97d911c6a01a28a69"},"where":"file messages.jsonl"}','2026-12-01T01:30:17.070495Z',NULL,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES('msg1_fea31896a81aef9f4c683f29','team','nightly','run1_ehqxqaniyjhyk2i6ujun7oqhue','{"id":"msg1_fea31896a81aef9f4c683f29","job":"nightly","run":"run1_ehqxqaniyjhyk2i6ujun7oqhue","slot":"2026-12-01T01:30:19.700507Z","rules":[{"rule":"twins","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":1,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"persons","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":4,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"paid","severity":"medium","dataset":"orders","new":1,"grown":0,"reopened":0,"known":2,"resolved":1,"records":0,"money":{"EUR":"99.00"},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-TRE607","state":"new","key":{"id":"F"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"99.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c5"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"reconciliation","datasets":["orders","charges"],"nouns":["discrepancy","discrepancies"],"forms":{"right_only":1},"in_words":["1 missing in orders"],"balance":[{"currency":"EUR","left":"60.00","right":"137.50","matched":"0.00","explained":"-77.50","not_yet_due":"0","by_form":{"missing in charges":"30.00","missing in orders":"-106.00","values differ":"-1.50"},"not_reported":"0"}],"undecided":0,"first_message":false},{"rule":"negative","severity":"medium","dataset":"charges","new":0,"grown":0,"reopened":0,"known":0,"resolved":1,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"check","datasets":[],"nouns":["failing record","failing records"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false}],"failures":[],"link":null,"test":false,"since":"2026-12-01T01:30:11.512950Z","created":"2026-12-01T01:30:21.147995Z","timezone":"UTC","trouble":null,"cleaning":[{"rule":"twins","severity":"medium","dataset":"customers","awaiting":0,"quarantined":0,"failed":0,"cleaned":2,"stale":0,"waiting":0,"money":{},"stopped":null,"undo":"reconcile undo F-JFC98D","findings":[],"owner":null,"not_undone":0,"next_run":null,"runbook":null,"undone":1,"undos_waiting":0,"expired":0,"void":0,"withdrawn":0,"waits_for":null,"doubt":null,"plans":[{"finding":"F-MY1A6Z","what":"cleaned","does":"mark 1 record","why":null},{"finding":"F-JFC98D","what":"cleaned","does":"mark 1 record","why":null},{"finding":"F-MY1A6Z","what":"undone","does":"","why":null}]}],"project":null,"escalation":null,"fallback_of":null}',1,'sent',1,'2026-12-01T01:30:21.147995Z','2026-12-01T01:30:21.147995Z','2026-12-04T01:30:21.147995Z',1,NULL,'2026-12-01T01:35:21.228542Z',0,NULL,'{"details":{"notice":"msg1_fea31896a81aef9f4c683f29"},"where":"file messages.jsonl"}','2026-12-01T01:30:21.244689Z',NULL,NULL,NULL,NULL);
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
INSERT INTO "plans" VALUES('P-QAHIRE2P6GPJ','F-24D41K','twins','customers','shop','sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','set','run1_xphz2oa6qflweahexm7yeiwysq','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','9a51932704a8edc7861123cca72384907b7c1582dd8c372a0a18c12e8058d7b0',NULL,'skipped','dismissed by root','{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","cy@example.com"],"id":["i","5"],"merged_into":null,"name":["t","Cy Doe"],"phone":["t","+49 5"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","5"]]],"table":"customers"}},{"after":{"merged_into":["i","5"],"status":["t","duplicate"]},"before":{"email":["t","cy@example.com"],"id":["i","6"],"merged_into":null,"name":["t","Cy Doe"],"phone":["t","+49 5"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","6"]]],"table":"customers"}}],"dataset":"customers","finding":"F-24D41K","ignore_drift":[],"keeper":"[[\"n\",\"5\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"096bf430a4e0fcecc193353b3a07484dc25d347d09425678a7d0eb019414a3ae","generation":1,"record":"[[\"n\",\"6\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"9a331470ad0078c292e6b13b831af185","source":"shop","table":"customers","target":"sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T01:30:16.898450Z','2026-12-08T01:30:16.898450Z',0,NULL,'2026-12-01T01:30:16.898450Z',0,'2026-12-01T01:30:16.898450Z',NULL,NULL,NULL,'2026-12-01T01:30:18.936510Z');
INSERT INTO "plans" VALUES('P-7AGXML2QWFWX','F-95BSKE','twins','customers','shop','sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','set','run1_xphz2oa6qflweahexm7yeiwysq','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','ea7d04264599a128055423f9a99e83e1b9ece160cc2b8e543805ddaac56d05a2',NULL,'skipped','root chose another keeper','{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","di@example.com"],"id":["i","7"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 7"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","7"]]],"table":"customers"}},{"after":{"merged_into":["i","7"],"status":["t","duplicate"]},"before":{"email":["t","di@example.com"],"id":["i","8"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 8"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","8"]]],"table":"customers"}}],"dataset":"customers","finding":"F-95BSKE","ignore_drift":[],"keeper":"[[\"n\",\"7\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"794a97d6ec020624ae01e67dbcf58b2761d8a5941e046317a6d8e781143a4dab","generation":1,"record":"[[\"n\",\"8\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"07b28c4a2c9579fa6cc81adfe763dd53","source":"shop","table":"customers","target":"sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T01:30:16.898450Z','2026-12-08T01:30:16.898450Z',0,NULL,'2026-12-01T01:30:16.898450Z',0,'2026-12-01T01:30:16.898450Z',NULL,NULL,NULL,'2026-12-01T01:30:17.665779Z');
INSERT INTO "plans" VALUES('P-AV3VK55BPYIQ','F-JFC98D','twins','customers','shop','sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','set','run1_xphz2oa6qflweahexm7yeiwysq','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','285a6fc2df5a9a6222119f4f15a311a8fc56a9521dffd891d42a235f4af1083b',NULL,'succeeded',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","bob@example.com"],"id":["i","3"],"merged_into":null,"name":["t","Bob Roe"],"phone":["t","+49 3"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","3"]]],"table":"customers"}},{"after":{"merged_into":["i","3"],"status":["t","duplicate"]},"before":{"email":["t","BOB@example.com"],"id":["i","4"],"merged_into":null,"name":["t","Bob Roe"],"phone":["t","+49 4"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","4"]]],"table":"customers"}}],"dataset":"customers","finding":"F-JFC98D","ignore_drift":[],"keeper":"[[\"n\",\"3\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"c861b92247ba1cc2202c4a15b0e1091ea6d4a06f3138e1241f0e843ae0098d31","generation":1,"record":"[[\"n\",\"4\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"70e93ee14990a73fa7e8401b1b5962ff","source":"shop","table":"customers","target":"sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db","triggers":[],"undoes":null,"why":[]}','[{"after":{"email":["t","BOB@example.com"],"id":["i","4"],"merged_into":["i","3"],"name":["t","Bob Roe"],"phone":["t","+49 4"],"status":["t","duplicate"]}}]','{"approved_within":{"group":5,"money":{},"records":100,"share":"1","source_money":{},"source_records":100},"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T01:30:16.898450Z','2026-12-08T01:30:16.898450Z',1,NULL,'2026-12-01T01:31:18.534465Z',1,'2026-12-01T01:30:18.226840Z',NULL,NULL,'2026-12-01T01:30:18.534465Z','2026-12-01T01:30:18.553100Z');
INSERT INTO "plans" VALUES('P-7PVVPYXDP7TT','F-MY1A6Z','twins','customers','shop','sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','set','run1_xphz2oa6qflweahexm7yeiwysq','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','ecac1d781f111c84b25e5304067db29314f7b1c9def7344d99588f59166b908c',NULL,'compensated',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","ada@example.com"],"id":["i","1"],"merged_into":null,"name":["t","Ada Byron"],"phone":["t","+49 1"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","1"]]],"table":"customers"}},{"after":{"merged_into":["i","1"],"status":["t","duplicate"]},"before":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":null,"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","2"]]],"table":"customers"}}],"dataset":"customers","finding":"F-MY1A6Z","ignore_drift":[],"keeper":"[[\"n\",\"1\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"6b7055d108d684ba83df7ba35943294af280132312d19154fd58c05ad12ffc53","generation":1,"record":"[[\"n\",\"2\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"ec3edb97d2f56cd1ceecc68593ce7a1a","source":"shop","table":"customers","target":"sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db","triggers":[],"undoes":null,"why":[]}','[{"after":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":["i","1"],"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","duplicate"]}}]','{"approved_within":{"group":5,"money":{},"records":100,"share":"1","source_money":{},"source_records":100},"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T01:30:16.898450Z','2026-12-08T01:30:16.898450Z',1,NULL,'2026-12-01T01:31:18.188948Z',1,'2026-12-01T01:30:17.828549Z',NULL,NULL,'2026-12-01T01:30:18.188948Z','2026-12-01T01:30:18.205511Z');
INSERT INTO "plans" VALUES('P-IDUBYQU7QZVD','F-95BSKE','twins','customers','shop','sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','set',NULL,'d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','c691db7494630734fc3497f05df2dcfc58665185d48477a38d6350461119e5f4',NULL,'awaiting_approval',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","di@example.com"],"id":["i","8"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 8"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","8"]]],"table":"customers"}},{"after":{"merged_into":["i","8"],"status":["t","duplicate"]},"before":{"email":["t","di@example.com"],"id":["i","7"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 7"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","7"]]],"table":"customers"}}],"dataset":"customers","finding":"F-95BSKE","ignore_drift":[],"keeper":"[[\"n\",\"8\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"80c80ad36e26683ab3c3cb8c40183a2e244d127d779e8ab7b9e3f29cae49da98","generation":1,"record":"[[\"n\",\"7\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"07b28c4a2c9579fa6cc81adfe763dd53","source":"shop","table":"customers","target":"sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T01:30:17.665779Z','2026-12-08T01:30:17.665779Z',0,NULL,'2026-12-01T01:30:17.665779Z',0,'2026-12-01T01:30:17.665779Z',NULL,NULL,NULL,NULL);
INSERT INTO "plans" VALUES('P-UTJNV6YBG2WR','F-MY1A6Z','twins','customers','shop','sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','undo',NULL,'d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','2da1421fdc42c58e9d1e253f1203a9cef613a3fb07bfcbf4b56ac9532c606e58','P-7PVVPYXDP7TT','succeeded',NULL,'{"action":"undo","binding":"","catalogue":"","changes":[{"after":{"merged_into":null,"status":["t","new"]},"before":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":["i","1"],"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","duplicate"]},"role":"surplus","row":{"key":[["id",["i","2"]]],"table":"customers"}}],"dataset":"customers","finding":"F-MY1A6Z","ignore_drift":[],"keeper":"[[\"n\",\"1\"]]","money":{},"operations":[{"effect":"set:merged_into,status.undo","fingerprint":"2df223c2249ef1b508c7e35fff5e77f1186965074cd2833a98840d4e0628ac7e","generation":1,"record":"[[\"n\",\"2\"]]"}],"origins":{},"references":[],"reversible":"no","rule":"twins","salt":"ec3edb97d2f56cd1ceecc68593ce7a1a","source":"shop","table":"customers","target":"sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db","triggers":[],"undoes":"P-7PVVPYXDP7TT","why":["an undo cannot be undone; reopen the finding and clean it again"]}','[{"after":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":null,"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","new"]}}]','{"effects":["set:merged_into,status.undo"],"table":"customers"}',1,1,'{}','no','none','root','2026-12-01T01:30:18.662058Z',NULL,1,NULL,'2026-12-01T01:31:18.778667Z',1,'2026-12-01T01:30:18.662058Z',NULL,NULL,'2026-12-01T01:30:18.778667Z','2026-12-01T01:30:18.810302Z');
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
INSERT INTO "record_ids" VALUES('customers','["id"]','["integer"]','2026-12-01T01:30:14.684821Z');
INSERT INTO "record_ids" VALUES('charges','["id"]','["text"]','2026-12-01T01:30:16.227101Z');
INSERT INTO "record_ids" VALUES('orders','["id"]','["text"]','2026-12-01T01:30:16.227101Z');
CREATE TABLE releases (
	hash TEXT NOT NULL, 
	config TEXT NOT NULL, 
	first_seen TEXT NOT NULL, 
	files TEXT, 
	CONSTRAINT pk_releases PRIMARY KEY (hash)
);
INSERT INTO "releases" VALUES('d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','{"channels":{"team":{"path":"messages.jsonl","type":"file"}},"datasets":{"charges":{"id":"id","money":{"amount":"amount","currency":"EUR"},"source":"shop","table":"charges"},"customers":{"id":"id","source":"shop","table":"customers"},"orders":{"id":"id","money":{"amount":"total","currency":"EUR"},"source":"shop","table":"orders"}},"jobs":{"nightly":{"notify":["team"],"rules":"all"}},"rules":{"negative":{"dataset":"charges","kind":"check","where":"amount < 0"},"paid":{"compare":[{"left":"total","right":"amount"}],"key":[{"left":"id","right":"order_id"}],"kind":"reconciliation","left":"orders","right":"charges"},"persons":{"dataset":"customers","key":{"any":[["phone"],["name"]]},"kind":"duplicates","max_share":"100%"},"twins":{"clean":{"action":"set","values":{"merged_into":"{{ keeper.id }}","status":"duplicate"}},"dataset":"customers","keep":[{"first":"id"}],"key":[{"email":["trim","lower"]}],"kind":"duplicates","limits":{"records":"100","share":"100%"},"where":"status <> ''duplicate''"}},"sources":{"shop":{"type":"sql","url":"sqlite:///shop.db"}},"state":"sqlite:///state.db","version":"1"}','2026-12-01T01:30:14.075536Z','[["reconcile.yaml","version: 1\nstate: sqlite:///state.db\nsources:\n  shop:\n    type: sql\n    url: sqlite:///shop.db\ndatasets:\n  customers:\n    source: shop\n    table: customers\n    id: id\n  orders:\n    source: shop\n    table: orders\n    id: id\n    money:\n      amount: total\n      currency: EUR\n  charges:\n    source: shop\n    table: charges\n    id: id\n    money:\n      amount: amount\n      currency: EUR\nrules:\n  twins:\n    kind: duplicates\n    dataset: customers\n    key:\n      - email:\n          - trim\n          - lower\n    where: status <> ''duplicate''\n    keep:\n      - first: id\n    clean:\n      action: set\n      values:\n        status: duplicate\n        merged_into: \"{{ keeper.id }}\"\n    limits:\n      records: 100\n      share: 100%\n  persons:\n    kind: duplicates\n    dataset: customers\n    key:\n      any:\n        - - phone\n        - - name\n    max_share: 100%\n  paid:\n    kind: reconciliation\n    left: orders\n    right: charges\n    key:\n      - left: id\n        right: order_id\n    compare:\n      - left: total\n        right: amount\n  negative:\n    kind: check\n    dataset: charges\n    where: amount < 0\nchannels:\n  team:\n    type: file\n    path: messages.jsonl\njobs:\n  nightly:\n    rules: all\n    notify:\n      - team\n"]]');
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
INSERT INTO "rule_state" VALUES('twins','ba93d1775e063ab3c4bc4a413cc33aa72a6da7aab57eecbfb47647751ad3b112','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:14.697614Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.064896Z',NULL,'9acecc856e7614408f3ac97a2e135a4fe170884ec30bc27c953e5f14fe00bb65');
INSERT INTO "rule_state" VALUES('persons','6697642266c1d209d134050e2dadb193f1f833d07b57586db5fa61b233f7f150','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:15.526942Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.184152Z',NULL,NULL);
INSERT INTO "rule_state" VALUES('paid','e010e09295850fb3a848b5a34c9e6cbdc595377a1e8f59793400c4e67934fd2b','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.230492Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.698333Z',NULL,NULL);
INSERT INTO "rule_state" VALUES('negative','d187f92eafe0ac7cbd360ecd7e021c40e3a128d982fc360e28207b4a51d8fa2b','run1_xphz2oa6qflweahexm7yeiwysq','2026-12-01T01:30:16.388753Z','run1_ehqxqaniyjhyk2i6ujun7oqhue','2026-12-01T01:30:20.806171Z',NULL,NULL);
CREATE TABLE run_rules (
	run TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	status TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	finished TEXT NOT NULL, 
	CONSTRAINT pk_run_rules PRIMARY KEY (run, rule), 
	CONSTRAINT fk_run_rules_run FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "run_rules" VALUES('run1_xphz2oa6qflweahexm7yeiwysq','twins','done','{"cleaning":{"binding":"9acecc856e7614408f3ac97a2e135a4fe170884ec30bc27c953e5f14fe00bb65","cleaned":0,"failed":0,"proposed":4,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":8,"seconds":0.562,"severity":"medium","skipped":[]}','2026-12-01T01:30:16.995264Z');
INSERT INTO "run_rules" VALUES('run1_xphz2oa6qflweahexm7yeiwysq','persons','done','{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.641,"severity":"medium","skipped":[]}','2026-12-01T01:30:15.526942Z');
INSERT INTO "run_rules" VALUES('run1_xphz2oa6qflweahexm7yeiwysq','paid','done','{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-4.00"},"currency":"EUR","explained":"24.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"35.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"left_only":1,"mismatch":1,"right_only":2},"groups":4,"groups_before":[],"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"matched":2,"money":{"EUR":"41.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.65,"severity":"medium","skipped":[]}','2026-12-01T01:30:16.230492Z');
INSERT INTO "run_rules" VALUES('run1_xphz2oa6qflweahexm7yeiwysq','negative','done','{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":1,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"condition":1},"groups":1,"groups_before":[],"in_words":["1 failing record"],"money":{"EUR":"3.00"},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.136,"severity":"medium","skipped":[]}','2026-12-01T01:30:16.388753Z');
INSERT INTO "run_rules" VALUES('run1_ehqxqaniyjhyk2i6ujun7oqhue','twins','done','{"cleaning":{"binding":"9acecc856e7614408f3ac97a2e135a4fe170884ec30bc27c953e5f14fe00bb65","cleaned":0,"failed":0,"proposed":0,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":1,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":2},"first_run":false,"groups":3,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":7,"seconds":0.254,"severity":"medium","skipped":[]}','2026-12-01T01:30:21.145953Z');
INSERT INTO "run_rules" VALUES('run1_ehqxqaniyjhyk2i6ujun7oqhue','persons','done','{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":4,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":0},"first_run":false,"groups":4,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.059,"severity":"medium","skipped":[]}','2026-12-01T01:30:20.184152Z');
INSERT INTO "run_rules" VALUES('run1_ehqxqaniyjhyk2i6ujun7oqhue','paid','done','{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-106.00"},"currency":"EUR","explained":"-77.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"137.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":2,"merged":0,"new":1,"reopened":0,"resolved":1,"settled":1},"first_run":false,"forms":{"mismatch":1,"right_only":2},"groups":4,"groups_before":[4],"in_words":["2 missing in orders","1 mismatch"],"matched":2,"money":{"EUR":"107.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.473,"severity":"medium","skipped":[]}','2026-12-01T01:30:20.698333Z');
INSERT INTO "run_rules" VALUES('run1_ehqxqaniyjhyk2i6ujun7oqhue','negative','done','{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":0,"reopened":0,"resolved":1,"settled":0},"first_run":false,"groups":0,"groups_before":[1],"money":{},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.078,"severity":"medium","skipped":[]}','2026-12-01T01:30:20.806171Z');
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
INSERT INTO "runs" VALUES('run1_xphz2oa6qflweahexm7yeiwysq','nightly','2026-12-01T01:30:11.512950Z','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','manual','succeeded',1,1,'2026-12-01T01:30:14.075536Z','2026-12-01T01:30:16.997028Z','{"attempt":1,"checked":["twins","persons","paid","negative"],"job":"nightly","messages":["msg1_05f5e3f97d911c6a01a28a69"],"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":[{"cleaning":{"binding":"9acecc856e7614408f3ac97a2e135a4fe170884ec30bc27c953e5f14fe00bb65","cleaned":0,"failed":0,"proposed":4,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":8,"seconds":0.562,"severity":"medium","skipped":[]},{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.641,"severity":"medium","skipped":[]},{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-4.00"},"currency":"EUR","explained":"24.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"35.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"left_only":1,"mismatch":1,"right_only":2},"groups":4,"groups_before":[],"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"matched":2,"money":{"EUR":"41.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.65,"severity":"medium","skipped":[]},{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":1,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"condition":1},"groups":1,"groups_before":[],"in_words":["1 failing record"],"money":{"EUR":"3.00"},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.136,"severity":"medium","skipped":[]}],"run":"run1_xphz2oa6qflweahexm7yeiwysq","slot":"2026-12-01T01:30:11.512950Z","status":"succeeded"}');
INSERT INTO "runs" VALUES('run1_ehqxqaniyjhyk2i6ujun7oqhue','nightly','2026-12-01T01:30:19.700507Z','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','manual','succeeded',1,2,'2026-12-01T01:30:19.742649Z','2026-12-01T01:30:21.147995Z','{"attempt":1,"checked":["twins","persons","paid","negative"],"job":"nightly","messages":["msg1_fea31896a81aef9f4c683f29"],"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":[{"cleaning":{"binding":"9acecc856e7614408f3ac97a2e135a4fe170884ec30bc27c953e5f14fe00bb65","cleaned":0,"failed":0,"proposed":0,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":1,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":2},"first_run":false,"groups":3,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":7,"seconds":0.254,"severity":"medium","skipped":[]},{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":4,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":0},"first_run":false,"groups":4,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.059,"severity":"medium","skipped":[]},{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-106.00"},"currency":"EUR","explained":"-77.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"137.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":2,"merged":0,"new":1,"reopened":0,"resolved":1,"settled":1},"first_run":false,"forms":{"mismatch":1,"right_only":2},"groups":4,"groups_before":[4],"in_words":["2 missing in orders","1 mismatch"],"matched":2,"money":{"EUR":"107.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.473,"severity":"medium","skipped":[]},{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":0,"reopened":0,"resolved":1,"settled":0},"first_run":false,"groups":0,"groups_before":[1],"money":{},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.078,"severity":"medium","skipped":[]}],"run":"run1_ehqxqaniyjhyk2i6ujun7oqhue","slot":"2026-12-01T01:30:19.700507Z","status":"succeeded"}');
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
INSERT INTO "targets" VALUES('sqlite:27:196205:/dev/shm/tmphhniobl5/shop.db','shop',3,3,'2026-12-01T01:30:17.917450Z','2026-12-01T01:30:18.740482Z');
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
INSERT INTO "users" VALUES('ada','operator','$argon2id$v=19$m=65536,t=3,p=4$9XpitIv9wwHu2/uYp8gZNw$9mlohCMRR7bQgu20rFFS+cPc4RrGYM7DL6/oH+y73EA',0,NULL,'2026-12-01T01:30:19.280910Z');
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
CREATE INDEX ix_uncertain_pairs_rule ON uncertain_pairs (rule);
CREATE INDEX ix_presses_status_next_at ON presses (status, next_at);
CREATE INDEX ix_presses_received_at ON presses (received_at);
CREATE INDEX ix_keyed_requests_received_at ON keyed_requests (received_at);
CREATE INDEX ix_audit_subject ON audit (subject);
CREATE INDEX ix_attempts_since ON attempts (since);
CREATE INDEX ix_runs_started ON runs (started);
CREATE INDEX ix_runs_job_status_fence ON runs (job, status, fence);
CREATE INDEX ix_runs_job_started ON runs (job, started);
CREATE INDEX ix_audit_bodies_finding ON audit_bodies (finding);
CREATE INDEX ix_audit_bodies_run ON audit_bodies (run);
CREATE INDEX ix_tokens_user ON tokens (user);
CREATE INDEX ix_sessions_user ON sessions (user);
CREATE INDEX ix_sessions_ends_at ON sessions (ends_at);
CREATE INDEX ix_dataset_stats_dataset_rule_at ON dataset_stats (dataset, rule, at);
CREATE INDEX ix_findings_assigned_to ON findings (assigned_to);
CREATE INDEX ix_findings_rule_state_severity_amount_rank_first_seen_id ON findings (rule, state, severity, amount_rank, first_seen, id);
CREATE INDEX ix_findings_fingerprint ON findings (fingerprint);
CREATE INDEX ix_findings_state_severity_amount_rank_first_seen_id ON findings (state, severity, amount_rank, first_seen, id);
CREATE INDEX ix_anchors_status_next_at ON anchors (status, next_at);
CREATE INDEX ix_outbox_run ON outbox (run);
CREATE INDEX ix_outbox_status_next_at ON outbox (status, next_at);
CREATE INDEX ix_finding_aliases_finding ON finding_aliases (finding);
CREATE INDEX ix_finding_members_record ON finding_members (record);
CREATE INDEX ix_not_same_finding ON not_same (finding);
CREATE INDEX ix_not_same_rule_record_b ON not_same (rule, record_b);
CREATE INDEX ix_plans_finding ON plans (finding);
CREATE INDEX ix_plans_state_source_next_at_id ON plans (state, source, next_at, id);
CREATE INDEX ix_plans_undoes ON plans (undoes);
CREATE INDEX ix_plans_rule_state ON plans (rule, state);
CREATE INDEX ix_plans_run ON plans (run);
CREATE INDEX ix_shown_findings_finding ON shown_findings (finding);
CREATE INDEX ix_effects_plan ON effects ("plan");
CREATE INDEX ix_effects_ended_at ON effects (ended_at);
CREATE INDEX ix_effects_record_target_effect ON effects (record, target, effect);
CREATE INDEX ix_holds_plan ON holds ("plan");
CREATE INDEX ix_approvals_plan_hash ON approvals (plan_hash);
CREATE INDEX ix_limit_uses_run_rule ON limit_uses (run, rule);
CREATE INDEX ix_limit_uses_rule_at ON limit_uses (rule, at);
CREATE INDEX ix_limit_uses_target_at ON limit_uses (target, at);
COMMIT;
