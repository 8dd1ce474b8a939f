PRAGMA application_id = 1380142668;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0019');
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
INSERT INTO "approvals" VALUES('P-DS22E52LX6DB','root','approved','af91d8ad4ae82066ab9a24c620e83bdb94453ed2cf03fa58ce79e0ec40dea412','2026-11-30T17:12:05.848890Z',NULL);
INSERT INTO "approvals" VALUES('P-6WH4QZOUJWJS','root','approved','aeedb51fd0622a6caf97cef6e3667c8a531b1f8e1ad296392a84a02c56fabb00','2026-11-30T17:12:06.821850Z',NULL);
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
INSERT INTO "audit" VALUES(1,'2026-11-30T17:12:00.661854Z','reconcile','finding.opened','05ab0f692edab660b5c85e1031f2a6855b8d0d4e5d71c187fc683d6cb2d99e57','61a004ab00cdcf287191a5b5c4ed0ec6600b2a52a9aa0e56452df5153dfd753d','fcf62c6e50ae7703e96c9359d922717ddb0d165e45b7984fd05ac35a2b98f31c','263668e606c85af7ecc351eb63944f6e89e44370a8adb1c74fe5c8dba21d3c4c');
INSERT INTO "audit" VALUES(2,'2026-11-30T17:12:00.661854Z','reconcile','finding.opened','28fcd67ffa3bfbee521a1f5d5c641d4637a4739e4a5b3968e16fabc90f575c17','c33482c10555f6a725ef504d305e42bfd8d103c475fc91245f1eed39576a31e2','263668e606c85af7ecc351eb63944f6e89e44370a8adb1c74fe5c8dba21d3c4c','26bda036469c023f81d40e256f51b546b1d1adf0cbafefedaaf08a8c02b8d20d');
INSERT INTO "audit" VALUES(3,'2026-11-30T17:12:00.661854Z','reconcile','finding.opened','291e98bbfe52b42fc0ccd8cf0fbad3b663975bc623dba3862866d432a7c8b959','7ada301947f7f9c1199cf3c42f1a59816da1751cdcfea247572b60e020a5fe30','26bda036469c023f81d40e256f51b546b1d1adf0cbafefedaaf08a8c02b8d20d','ead926082ec56c5ef6b3c6bc181cc46b51fbf353a445f4fe5c84a350b48bc95b');
INSERT INTO "audit" VALUES(4,'2026-11-30T17:12:00.661854Z','reconcile','finding.opened','fdc3c81bf743858ce5ca6f666a1b3360f9fa0ed212816ad8257210bb320b1e97','0fbb8f7f366d24540c6070b44f2ff38cb8b64e7a3b3a9108881d65a016523e2f','ead926082ec56c5ef6b3c6bc181cc46b51fbf353a445f4fe5c84a350b48bc95b','7c81e70a6dbcc8213665f2418bc517f55007eb3817448bee3a68d019573a8514');
INSERT INTO "audit" VALUES(5,'2026-11-30T17:12:01.685929Z','reconcile','finding.opened','18e60528d09954037a0bf40d8b4e07e716c55a054339f8c4dfcedaf2681ca44f','c877c74a5dc05fc84d938f7f9d28d49d1e2decb46e549580e4b0a6ff46cc032f','7c81e70a6dbcc8213665f2418bc517f55007eb3817448bee3a68d019573a8514','e0c1b08d9445783c034118f3483c42952ed8cf6fe57953742b5c166f45f6a1dd');
INSERT INTO "audit" VALUES(6,'2026-11-30T17:12:01.685929Z','reconcile','finding.opened','42226cd07fc245071e9713cdd6911b447b2a6c60f988af836ab73a26b9b923b9','d4377b3ad8ce86c93f48b31d786d02fe8d5ffd7df2dbd0075082d41aa52a6e1c','e0c1b08d9445783c034118f3483c42952ed8cf6fe57953742b5c166f45f6a1dd','8472607f64f40fdfd97e91a2f05b93e19ba565b8efcea2a2b8c1cce695587386');
INSERT INTO "audit" VALUES(7,'2026-11-30T17:12:01.685929Z','reconcile','finding.opened','aed418e42af414966ffef9f1070b3cfc3eeebc98622941be0fb89e03f7071907','a3a158195809355d8e598abe4ea682ee428c7fd5a11e6a2d7f6a8df97655adcf','8472607f64f40fdfd97e91a2f05b93e19ba565b8efcea2a2b8c1cce695587386','150ee062a50e9b7497385dacc938286442813efe8a0571d0458d9e688307c2c6');
INSERT INTO "audit" VALUES(8,'2026-11-30T17:12:01.685929Z','reconcile','finding.opened','b2a11e3254d22d56e861712eb6c31e96072f55ad39783a3a1e5e516c31eb44e7','ac07350150219fa14d22086563e223133a619024df1301d3953289066364e958','150ee062a50e9b7497385dacc938286442813efe8a0571d0458d9e688307c2c6','4e9c37549a0454e88ba90f21575dbf26916dca4296c80ed895f0ad7e1dfbed69');
INSERT INTO "audit" VALUES(9,'2026-11-30T17:12:02.807949Z','reconcile','finding.opened','036c960890b23a24239b9e4219061bc6083e07e2d8877609d6c845db3e66b169','4be4351e537869aea6ea9332ac9b345da677f6cf9cfc7f6d49c26e4af1995b88','4e9c37549a0454e88ba90f21575dbf26916dca4296c80ed895f0ad7e1dfbed69','bb9eff0244bb8f63a4470fa423a4eda365d988e3df17d22a589f29e82994b904');
INSERT INTO "audit" VALUES(10,'2026-11-30T17:12:02.807949Z','reconcile','finding.opened','a7d0591892aff3ef91c1d9625ad5108b191d6b4cfc7ffb53c4acc8acb7f3067a','eceefc0b1c7ea707dbb376a75edd5432ccccefd4f4c199710596eefe8fc9beff','bb9eff0244bb8f63a4470fa423a4eda365d988e3df17d22a589f29e82994b904','7d06e2f21b05e636d09e1ae31accdd7ffca36715d409eed8cde3c89a4a9dc153');
INSERT INTO "audit" VALUES(11,'2026-11-30T17:12:02.807949Z','reconcile','finding.opened','877e74d836d9af8b12e6e98c9094c29eb0e1386761e088963de01aa589ed53b2','50884b6136b63d96f5cadc597908ce58e305525147f3774aa58a23bbc9900fda','7d06e2f21b05e636d09e1ae31accdd7ffca36715d409eed8cde3c89a4a9dc153','5174a8562908303f9415d52cc9da24927a6d939b50231c15e6a85769974fb45a');
INSERT INTO "audit" VALUES(12,'2026-11-30T17:12:02.807949Z','reconcile','finding.opened','2220cb3a42b6ca3897241c9a46e1c691f6a6ed4f3a353a621c56aac40c011f75','fce3a6210c92387ae2adec2d0d79824e5b6eef43a9a073c303d16c181f944335','5174a8562908303f9415d52cc9da24927a6d939b50231c15e6a85769974fb45a','74c0ad69e1fb4869f7c9019d657876bcb8cd36c5a6f38a1236c872075f6398af');
INSERT INTO "audit" VALUES(13,'2026-11-30T17:12:03.095279Z','reconcile','finding.opened','c7dd83e3674db840de3be2ddfb5dad3ff81fe85b630f7940850289cc1b51e86a','179aacba712b12f33b025d40e6b7276730cfaf5760bf9c1f33a6ea4fea3bbad5','74c0ad69e1fb4869f7c9019d657876bcb8cd36c5a6f38a1236c872075f6398af','5a7f3b4378412cd8f93b44698ea091ddfc8b2e3c33528a963ff70621cc169a0f');
INSERT INTO "audit" VALUES(14,'2026-11-30T17:12:03.847212Z','reconcile','plan.proposed','669b162cbe3bd0ebee1a67c6e604901505c95b63177f7b8560ffdfcd18e8aa97','2d77bd6fec581149f52b52e4a1c97b73fa8a0a16ba05fb1f21f38fdc38863735','5a7f3b4378412cd8f93b44698ea091ddfc8b2e3c33528a963ff70621cc169a0f','03dbad8e69fef23f4a465b8494efacbffb3723d394d168ee1f8f589a6bc3a360');
INSERT INTO "audit" VALUES(15,'2026-11-30T17:12:03.847212Z','reconcile','plan.proposed','60aef4c0c4acd81527ce01002872fa051f0a6d2d471829fb16ecb7cdace3c66e','4e12fa4e201f4fcbd86a0b10abe6238643c34031613d2e512b10a8db5f523ca3','03dbad8e69fef23f4a465b8494efacbffb3723d394d168ee1f8f589a6bc3a360','13dd58f39056b21792bd0603f8be06861b07e4414cc6a4e965deda30c7675d49');
INSERT INTO "audit" VALUES(16,'2026-11-30T17:12:03.847212Z','reconcile','plan.proposed','8585828d5027d877cd2d643ed1a7b873573c87c7bc007f1e09e6774c35d74969','54ef19b96331096b7dc7b055ac34ee8d33d3adbc3e5ea6d58126399b43ee5946','13dd58f39056b21792bd0603f8be06861b07e4414cc6a4e965deda30c7675d49','a312d03f85645a57d2592946d2ffaf7df39db2edc494221e6732402dad5f8246');
INSERT INTO "audit" VALUES(17,'2026-11-30T17:12:03.847212Z','reconcile','plan.proposed','5d062feeb1b978b3817207415166938cb8740a3f5ba3b57d9059c345a234d3c4','bd463faf3fd94be6dfd1966404918523778cca5ce431fccc89cfea228a48f83e','a312d03f85645a57d2592946d2ffaf7df39db2edc494221e6732402dad5f8246','6e31c6079b40a5d7d8ca2c6769120cd084ad2abcb38e39c264a5fc2c842b3ec5');
INSERT INTO "audit" VALUES(18,'2026-11-30T17:12:04.065781Z','reconcile','message.queued','d848a0dd6bebab1722902bcc48e5df76f745b2d94a79fd6873503ae636429ec9','c4265fbccbd0c9c14510d69492606929509f1eb0a02483c5334f1f749ada9faf','6e31c6079b40a5d7d8ca2c6769120cd084ad2abcb38e39c264a5fc2c842b3ec5','40eca765140647aac5c663a3c0f3d83ec7f90916bb2ac12ed68cbee983905bc6');
INSERT INTO "audit" VALUES(19,'2026-11-30T17:12:04.065781Z','reconcile','run.finished','0e557ca12684d6499d8b9a98d6e877288734275c7d4b3806f6d56900d6727a89','d2ec613be6ef7585bcd81742f4e669db415d3bdf398485f72dab0dd9da5fc3cf','40eca765140647aac5c663a3c0f3d83ec7f90916bb2ac12ed68cbee983905bc6','159a8d3157d0b449b352e16a6adc5c0dee1166b4d2f58d55d8e3bb08de269312');
INSERT INTO "audit" VALUES(20,'2026-11-30T17:12:04.223474Z','reconcile','message.sending','d848a0dd6bebab1722902bcc48e5df76f745b2d94a79fd6873503ae636429ec9','13cecfd9a9a89ec16a39f4a42712e21d1a0e7161716c27a9ed9c58005f453d02','159a8d3157d0b449b352e16a6adc5c0dee1166b4d2f58d55d8e3bb08de269312','867a09a06642c0f4756d1d7306aaf59e7da1a0690338d52b3a24a3a9ab5a33d7');
INSERT INTO "audit" VALUES(21,'2026-11-30T17:12:04.253648Z','reconcile','message.sent','d848a0dd6bebab1722902bcc48e5df76f745b2d94a79fd6873503ae636429ec9','b4adf1b60612fe07f31e0756873b9b5daf9630b2d360d0b0f62596a63e66772a','867a09a06642c0f4756d1d7306aaf59e7da1a0690338d52b3a24a3a9ab5a33d7','510fd81aceea6121e072b68f516dd86afb7a354bda0dbc30f21656ab896f11c0');
INSERT INTO "audit" VALUES(22,'2026-11-30T17:12:05.513072Z','root','finding.keeper_chosen','fdc3c81bf743858ce5ca6f666a1b3360f9fa0ed212816ad8257210bb320b1e97','53fc724759f8e0d120ab044b296f1140effd44cf4d769bc94bb92e05b2c8d5a3','510fd81aceea6121e072b68f516dd86afb7a354bda0dbc30f21656ab896f11c0','817caf9d5a572492e06d260ce128e5194bf2eb791bf5188eb41c0d88ddd8673c');
INSERT INTO "audit" VALUES(23,'2026-11-30T17:12:05.513072Z','root','plan.skipped','5d062feeb1b978b3817207415166938cb8740a3f5ba3b57d9059c345a234d3c4','bd20fb76c2a18465b4dc5ed68e6a9d178228e1817ea7f120d95b6bbee8de9a28','817caf9d5a572492e06d260ce128e5194bf2eb791bf5188eb41c0d88ddd8673c','0d6c7fdd0521a012da89b152e3a4efb02e820b5f84e75a64fea62e8d64fac71d');
INSERT INTO "audit" VALUES(24,'2026-11-30T17:12:05.513072Z','reconcile','plan.proposed','ea7330d624fde362a7df10772ed464106d0a93685daed48b4fc5b311bc39caba','d50b47ce4dd6b871ef89aeb327446d0846eddd863098362c2c7709246869be0f','0d6c7fdd0521a012da89b152e3a4efb02e820b5f84e75a64fea62e8d64fac71d','0e97d58159fc5eb3dc0d34a69215993c6b002e11af310a774db2b98274d71168');
INSERT INTO "audit" VALUES(25,'2026-11-30T17:12:05.848890Z','root','approval.approved','669b162cbe3bd0ebee1a67c6e604901505c95b63177f7b8560ffdfcd18e8aa97','7d35b01dbbc54f7fa229e4fc87bccc656a2eaae6c9402c7fc1d322c603f5f795','0e97d58159fc5eb3dc0d34a69215993c6b002e11af310a774db2b98274d71168','858f79cae3299e0abbf9854d17949d3c0042a9b87e800606d162387e8ca9f4de');
INSERT INTO "audit" VALUES(26,'2026-11-30T17:12:05.848890Z','root','plan.approved','669b162cbe3bd0ebee1a67c6e604901505c95b63177f7b8560ffdfcd18e8aa97','7df18bb457e2bbedd5e9ebac77c63b759bf4a20f01985e30fd70f3eaf88c5b39','858f79cae3299e0abbf9854d17949d3c0042a9b87e800606d162387e8ca9f4de','e7c2ca98f12fff8e5386f9d9c47bb6a905dff10781edf410ba21e5c198af34d7');
INSERT INTO "audit" VALUES(27,'2026-11-30T17:12:06.058758Z','reconcile','target.first_seen','f362e64b3908721cb7d14e8646ed3b1230fff870f30fa3440916394f22340d92','dced9eb86d2a22c4ec8fe50343d1cba7cf257cc4ee73674464744505d82c4f54','e7c2ca98f12fff8e5386f9d9c47bb6a905dff10781edf410ba21e5c198af34d7','5ef1170e3f4bbf956503c26aa9ddedea497240aa459905b85a799b8cbd9ebb2b');
INSERT INTO "audit" VALUES(28,'2026-11-30T17:12:06.664640Z','reconcile','operation.sent','669b162cbe3bd0ebee1a67c6e604901505c95b63177f7b8560ffdfcd18e8aa97','49cc10d9a2b5613505490b8677b11c5dcdeade905b2ac23903453a56c18c493f','5ef1170e3f4bbf956503c26aa9ddedea497240aa459905b85a799b8cbd9ebb2b','66eb95dfc8c109be5681a3e49d210365fb079b52dd085e389892f0429934754a');
INSERT INTO "audit" VALUES(29,'2026-11-30T17:12:06.760044Z','reconcile','operation.succeeded','669b162cbe3bd0ebee1a67c6e604901505c95b63177f7b8560ffdfcd18e8aa97','aff65e224de9071def76de60fe4b68e26487b80a5a0b269f7f79140b7780b059','66eb95dfc8c109be5681a3e49d210365fb079b52dd085e389892f0429934754a','634026b189ee063e1c05471a0cabf65615075612b76bd4a2a03a2d11919d2c22');
INSERT INTO "audit" VALUES(30,'2026-11-30T17:12:06.821850Z','root','approval.approved','8585828d5027d877cd2d643ed1a7b873573c87c7bc007f1e09e6774c35d74969','0adcdbf5add974e1766ec3babc6cd7f8de1e3ed87fd696d2f3ad751f7e705044','634026b189ee063e1c05471a0cabf65615075612b76bd4a2a03a2d11919d2c22','c4229952ebd6b89734866c4f1eb71b785a8cf2ee9fb9a916a6632b893cd5380e');
INSERT INTO "audit" VALUES(31,'2026-11-30T17:12:06.821850Z','root','plan.approved','8585828d5027d877cd2d643ed1a7b873573c87c7bc007f1e09e6774c35d74969','7e301e1a499b7e577bc91456fa3aafc4d5171e7da69a78b61bb57ab66d7ee01f','c4229952ebd6b89734866c4f1eb71b785a8cf2ee9fb9a916a6632b893cd5380e','571cd27aaed18044182eff314c8501a716e42ae7347028be42866acd9f86e2e5');
INSERT INTO "audit" VALUES(32,'2026-11-30T17:12:07.502483Z','reconcile','operation.sent','8585828d5027d877cd2d643ed1a7b873573c87c7bc007f1e09e6774c35d74969','e40c94b061645c28f2b5830d8c6c986fc21b07d9144247f0db15a02b36e52b79','571cd27aaed18044182eff314c8501a716e42ae7347028be42866acd9f86e2e5','a7dfc8d5810769ed84df304f4dcf14d925fcd67c1c85dd402f90fb1496eaec63');
INSERT INTO "audit" VALUES(33,'2026-11-30T17:12:07.574333Z','reconcile','operation.succeeded','8585828d5027d877cd2d643ed1a7b873573c87c7bc007f1e09e6774c35d74969','4c2caaf70eff70e3e43b64bcbcf445d5c1a713e6ec3c8b7d358eb4815fc4bf3f','a7dfc8d5810769ed84df304f4dcf14d925fcd67c1c85dd402f90fb1496eaec63','491470ac8583c24e00fcedd7e2a13b61de1e80777fd92ea51b126cc1e9c0ffa2');
INSERT INTO "audit" VALUES(34,'2026-11-30T17:12:07.772715Z','root','plan.proposed','fb5cd894a356440fad0c5eece75052232a0ffea8cf1288ce1f82507862037097','572a7749254a256f448d6001c211dbd24756c99dda4b92f4651ebe75de6ab8df','491470ac8583c24e00fcedd7e2a13b61de1e80777fd92ea51b126cc1e9c0ffa2','175e0a42a8fe5c11e74413d4acdbf0eeaf659a1cd64a6809b54ea541ba9a77a8');
INSERT INTO "audit" VALUES(35,'2026-11-30T17:12:08.017881Z','reconcile','operation.sent','fb5cd894a356440fad0c5eece75052232a0ffea8cf1288ce1f82507862037097','da5cca13bd72c285c59b29777485257bd4da3d9742670c9ba018e69fb4e1a426','175e0a42a8fe5c11e74413d4acdbf0eeaf659a1cd64a6809b54ea541ba9a77a8','2c95e559037844b02e69f23264f58dac5203d454f85c758072b014169f3bf445');
INSERT INTO "audit" VALUES(36,'2026-11-30T17:12:08.098350Z','reconcile','operation.succeeded','fb5cd894a356440fad0c5eece75052232a0ffea8cf1288ce1f82507862037097','a453ecf5cfecf8c76e278ea67f5489b09f725efdf76bc6540a0099128517cbee','2c95e559037844b02e69f23264f58dac5203d454f85c758072b014169f3bf445','a0ce9250e41bf71c939a13adbab242cecfc657cd43da0cd8b8e33ddbef26affd');
INSERT INTO "audit" VALUES(37,'2026-11-30T17:12:08.320995Z','root','plan.skipped','60aef4c0c4acd81527ce01002872fa051f0a6d2d471829fb16ecb7cdace3c66e','30a05100dbd485eefc72c1e7874c4b864ce63ea18de93419072705b0b66d4fed','a0ce9250e41bf71c939a13adbab242cecfc657cd43da0cd8b8e33ddbef26affd','bbe41be82082070ba8f95b906f424a50231b983d31fd1c6a635c588b810e3be1');
INSERT INTO "audit" VALUES(38,'2026-11-30T17:12:08.320995Z','root','finding.dismissed','28fcd67ffa3bfbee521a1f5d5c641d4637a4739e4a5b3968e16fabc90f575c17','3ccc00efcbcbf4c69d8fc88f14a3170435f9fec7c52ed46e6ba5b3458bb83d71','bbe41be82082070ba8f95b906f424a50231b983d31fd1c6a635c588b810e3be1','8f97fccb423c2a678ba893ffff0ea43b181c01eb336457d3ccfe82a8f3a1c94a');
INSERT INTO "audit" VALUES(39,'2026-11-30T17:12:08.540294Z','root','finding.snoozed','18e60528d09954037a0bf40d8b4e07e716c55a054339f8c4dfcedaf2681ca44f','2ae360f21ca3dd2d264a7dbd9569e941046300bf075ae30eda11a1f8ca8e36b9','8f97fccb423c2a678ba893ffff0ea43b181c01eb336457d3ccfe82a8f3a1c94a','abe79c9d11bcc74cb90c4de5cb60e84d381404c98f382afb33b55ddc7d215c2b');
INSERT INTO "audit" VALUES(40,'2026-11-30T17:12:08.700135Z','root','finding.assigned','42226cd07fc245071e9713cdd6911b447b2a6c60f988af836ab73a26b9b923b9','ed34aae3a4fe486867de831d7833fa073df9d1b07c5c93fa6f198eb595e8bd76','abe79c9d11bcc74cb90c4de5cb60e84d381404c98f382afb33b55ddc7d215c2b','e3f16aee4fdd4f9cc74b478261ac3e56f219367c0a01706fc0dc3791eadc0d7f');
INSERT INTO "audit" VALUES(41,'2026-11-30T17:12:08.859143Z','root','finding.handled','2220cb3a42b6ca3897241c9a46e1c691f6a6ed4f3a353a621c56aac40c011f75','6eab6e8abfefb128fbfb394aeeec0ad142eb3b50fbd6a9ff0c9c8c6c1b953616','e3f16aee4fdd4f9cc74b478261ac3e56f219367c0a01706fc0dc3791eadc0d7f','713e8b0f920a244cebb76c9015eb55f47fa9e3b49fbc0c45798c74b054d1cd09');
INSERT INTO "audit" VALUES(42,'2026-11-30T17:12:09.047255Z','root','user.added','6619656de98ed7a9af36d8fabd2a4731f2d3a2d1a1b1d1642d1c1987198cf03e','7043825393a411d50239cad80102b52b8378ec6ff4a1c5fddf6fee2d7b9da98b','713e8b0f920a244cebb76c9015eb55f47fa9e3b49fbc0c45798c74b054d1cd09','a2c19c51c89659031dde7967fa69551a2c927a769c6c50d78e7428b8a43c7377');
INSERT INTO "audit" VALUES(43,'2026-11-30T17:12:11.667179Z','reconcile','finding.resolved','036c960890b23a24239b9e4219061bc6083e07e2d8877609d6c845db3e66b169','da6d1c9dcb0da428297b1d844695438443e2d0b9137633beed3d292d0182c5e3','a2c19c51c89659031dde7967fa69551a2c927a769c6c50d78e7428b8a43c7377','01c14164fcaecdeaf6129b7d85feefa7380a11c3d11e434b0bfa3e29242f39f2');
INSERT INTO "audit" VALUES(44,'2026-11-30T17:12:11.667179Z','reconcile','finding.opened','d1ae3ed19970bd3ddb2bb8834f55d482092910b0eef569821c78c1f76de724b6','c26a5af3624ed32eafafe0103ea4da4791b65953929ed7c7fe5754aff85c9379','01c14164fcaecdeaf6129b7d85feefa7380a11c3d11e434b0bfa3e29242f39f2','b8450d00d53bc44f5ed57a8d34aea095f10a0a75871014238463d57e113ed139');
INSERT INTO "audit" VALUES(45,'2026-11-30T17:12:11.974487Z','reconcile','finding.resolved','c7dd83e3674db840de3be2ddfb5dad3ff81fe85b630f7940850289cc1b51e86a','838e806843317a259d3e460de106c4e0dc6866c197113ff1ff4e709b25340607','b8450d00d53bc44f5ed57a8d34aea095f10a0a75871014238463d57e113ed139','81551e84378ca5164451bd9932351bac2e51c2ab8824a3a0c3811ca2c8a4c39f');
INSERT INTO "audit" VALUES(46,'2026-11-30T17:12:12.730542Z','reconcile','state.changed','8cb46295b02264f65de3036966f0257dc6375d1aa993c44e1db8f1d4abb29f6a','9441ca989585c32529844be386ee9f237f0963ed788e3459b81b263ccb8ee497','81551e84378ca5164451bd9932351bac2e51c2ab8824a3a0c3811ca2c8a4c39f','1c2e9cb7b5b6d8aa18c9013e25009bda36731ad3e43ff36488fc958a8a34727d');
INSERT INTO "audit" VALUES(47,'2026-11-30T17:12:12.913733Z','reconcile','message.queued','8a35955a51af4aa0a021e7ebc6d9a10e7eb2e28e863af77c4912df235705cc48','e4af5c3d857e3af26cdabe9c68a8c360e15ae4d130c02060bb8d2088e5a5c522','1c2e9cb7b5b6d8aa18c9013e25009bda36731ad3e43ff36488fc958a8a34727d','d1f4bc290ed751102916b23782cb3b75da3abc44f951e60cd9f55f303aa35e96');
INSERT INTO "audit" VALUES(48,'2026-11-30T17:12:12.913733Z','reconcile','run.finished','764c032e5f3864da6d9826e98b98e7ba27336b1fc7be1fda07bdde0b2e0aa76a','4959bbe8b3aded9513ea2da90a7b3df1b5a1e8ab7ff3bc25168d53e6fceb6b53','d1f4bc290ed751102916b23782cb3b75da3abc44f951e60cd9f55f303aa35e96','dc01140890aabd665d19a91590d9437845aef5238a573c67c2bfb2a266309286');
INSERT INTO "audit" VALUES(49,'2026-11-30T17:12:13.079383Z','reconcile','message.sending','8a35955a51af4aa0a021e7ebc6d9a10e7eb2e28e863af77c4912df235705cc48','d89653f5f634e70e0d238763793fdf0f22324ef086418b3375a88decbcfc89d5','dc01140890aabd665d19a91590d9437845aef5238a573c67c2bfb2a266309286','2f7cfe2c774ac11a799ef9529684ee0eae7a9d9d692ab2c35ae5a5b0683a518b');
INSERT INTO "audit" VALUES(50,'2026-11-30T17:12:13.134131Z','reconcile','message.sent','8a35955a51af4aa0a021e7ebc6d9a10e7eb2e28e863af77c4912df235705cc48','4a244b026988ba5c859f420da9ad14cee4f58fe0f85020a8d8634911ed203f36','2f7cfe2c774ac11a799ef9529684ee0eae7a9d9d692ab2c35ae5a5b0683a518b','018dcce84aaff6ffc0fcce535838efbbef11693d1687a07c45596c669fec4835');
CREATE TABLE audit_bodies (
	seq BIGINT NOT NULL, 
	salt TEXT NOT NULL, 
	body TEXT NOT NULL, 
	finding TEXT, 
	run TEXT, 
	CONSTRAINT pk_audit_bodies PRIMARY KEY (seq), 
	CONSTRAINT fk_audit_bodies_seq FOREIGN KEY(seq) REFERENCES audit (seq)
);
INSERT INTO "audit_bodies" VALUES(1,'d308d4cda3b207507b27f324cfd6b09936fbba5fdb8d076b0c012d25c300ad06','{"facts":[["finding","F-0JEJ56",null,"ba81e9671a0deb778c2ee0d4205af607"],["rule","twins",null,"b8f238fc14eb0fc18cb0526cd28dfe87"]],"finding":"F-0JEJ56","from":null,"records":2,"rule":"twins","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"open","version":1}','F-0JEJ56','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(2,'1f9d2bd87b461050af45944a71fb6f77bf7b192f6bf55e95fa3425129e796bea','{"facts":[["finding","F-1T2G2E",null,"b3c6a85750fbb5a0dd0f909b14a5c093"]],"finding":"F-1T2G2E","from":null,"records":2,"rule":"twins","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"open","version":1}','F-1T2G2E','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(3,'0a3236076521128552f8c9dc24c26eb47996ad515e916f2f32b625559c6577da','{"facts":[["finding","F-4HSZCJ",null,"b7a6dbeed9d7c86102c49691b6329e0e"]],"finding":"F-4HSZCJ","from":null,"records":2,"rule":"twins","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"open","version":1}','F-4HSZCJ','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(4,'000052530e1bac15c345a1c4149f2a6665a0074cdfbe5542155be5f4451f1c4b','{"facts":[["finding","F-NMPCW9",null,"af3e275f9407aa0210fbe4e57314ffc5"]],"finding":"F-NMPCW9","from":null,"records":2,"rule":"twins","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"open","version":1}','F-NMPCW9','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(5,'b7de96e964a9d63ca9a1cad9a6b84a300c414093217c872f70fb4ca5c74e2db2','{"facts":[["finding","F-GGZ193",null,"ca96f9040034ac88926e24b799b249a1"],["rule","persons",null,"db414357a19d61bd3eacd64a00a64db8"]],"finding":"F-GGZ193","from":null,"records":2,"rule":"persons","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"open","version":1}','F-GGZ193','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(6,'b7fd6470073ebd8a6b1ac40f62f32ff22c9488e2e8dfd4914160435ef921f9ee','{"facts":[["finding","F-SMSWQM",null,"08542bacb8d85504d60998a7519e479d"]],"finding":"F-SMSWQM","from":null,"records":2,"rule":"persons","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"open","version":1}','F-SMSWQM','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(7,'e568a5d5f062e24d0f1cf2741da1317d8d67071e8ffd5af35245d814f32ff0ba','{"facts":[["finding","F-ZJPPRJ",null,"66abcf4bafade70b253eb5f9cf00aa98"]],"finding":"F-ZJPPRJ","from":null,"records":2,"rule":"persons","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"open","version":1}','F-ZJPPRJ','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(8,'c3281951a9f1c827738f331b4512c8a12ff6fdd55c81d3b42df6b03ad4bbc246','{"facts":[["finding","F-ZWT2S0",null,"368d5518d39f0f4fdfc20fadd1b8bd47"]],"finding":"F-ZWT2S0","from":null,"records":2,"rule":"persons","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"open","version":1}','F-ZWT2S0','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(9,'2d774212d2485ecc9e5dfad262e39de010cd95e7ff76699cb05db3dab913aa5d','{"facts":[["finding","F-34W2BT",null,"9aa13e79e194d15b54293e6183d8f9e5"],["rule","paid",null,"b3849be2ee64e44aaeb2664ce0a9ba5e"]],"finding":"F-34W2BT","from":null,"records":1,"rule":"paid","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"open","version":1}','F-34W2BT','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(10,'746bda2e2c48c204e2c4c3b1fc3d490a826a8419d5d1147abfbe2754474444be','{"facts":[["finding","F-C2X038",null,"94f6e5416aed0a5e1593166f21242ddd"]],"finding":"F-C2X038","from":null,"records":2,"rule":"paid","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"open","version":1}','F-C2X038','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(11,'6d028a33631ba44ef3395b75067f9b282e550dc97a67acf1c91d78346193b944','{"facts":[["finding","F-V9W2TR",null,"2b312a18a93956b864234196d7926088"]],"finding":"F-V9W2TR","from":null,"records":1,"rule":"paid","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"open","version":1}','F-V9W2TR','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(12,'f48e35be436b38355e49cc8f8d76707919792094b1fe6209b0cd493398ad1ec9','{"facts":[["finding","F-WBGQ3B",null,"78c8740e832d5b0d02f425d82eae6668"]],"finding":"F-WBGQ3B","from":null,"records":1,"rule":"paid","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"open","version":1}','F-WBGQ3B','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(13,'9df59bfe80005f9c75219f84b3d8794078aafcb148fe22df5bd586a42dea0759','{"facts":[["finding","F-CHM8N6",null,"4f29fb831bb2726ec6f29b0348ebca4c"],["rule","negative",null,"1c76e968ecd6a6a6339565aa5073750c"]],"finding":"F-CHM8N6","from":null,"records":1,"rule":"negative","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"open","version":1}','F-CHM8N6','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(14,'a1621b233e6d6397001ff3b6d62c19b5e0320b1fa2f91929088ebcd6c0db7ce3','{"action":"set","also":[["finding","F-0JEJ56","open","awaiting_approval"]],"facts":[["finding","F-0JEJ56","ba81e9671a0deb778c2ee0d4205af607","2aa14b21a48a6f8acd29cde97eaae9cf"],["plan","P-DS22E52LX6DB",null,"49f43eedf722f22963e4e0afc42245ff"],["limits","rule:twins",null,"71faac4a201bec39a44157458c1efdf1"],["limits","target:sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db",null,"638d26d74d375a2722f598638f10c0a1"]],"finding":"F-0JEJ56","from":null,"plan":"P-DS22E52LX6DB","plan_hash":"af91d8ad4ae82066ab9a24c620e83bdb94453ed2cf03fa58ce79e0ec40dea412","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_lhgagabfthlwxvz26m5tt64egm","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-0JEJ56','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(15,'27056f761cbc9b46a806de979dfc3d1799104ba1771dbd01de9ca137458c5606','{"action":"set","also":[["finding","F-1T2G2E","open","awaiting_approval"]],"facts":[["finding","F-1T2G2E","b3c6a85750fbb5a0dd0f909b14a5c093","bacc9f918a0f05252ee4e806bc572e01"],["plan","P-5YJPQKZKT2EE",null,"e87a8ca48d96b4e69255b7b7d46393ec"]],"finding":"F-1T2G2E","from":null,"plan":"P-5YJPQKZKT2EE","plan_hash":"dc1c160617da6ea0a73fad6d1156639166a8a3e12a5e120aa9c9c0b6879c2d8c","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_lhgagabfthlwxvz26m5tt64egm","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-1T2G2E','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(16,'4ff315f31f638cd4e9e697f528b288374cc002303966e31550ecfb49ff9ecc7e','{"action":"set","also":[["finding","F-4HSZCJ","open","awaiting_approval"]],"facts":[["finding","F-4HSZCJ","b7a6dbeed9d7c86102c49691b6329e0e","5336d884b47d26146f2bfd755042facf"],["plan","P-6WH4QZOUJWJS",null,"041b1e80a9dfc4d04ca0aebddaa7c109"]],"finding":"F-4HSZCJ","from":null,"plan":"P-6WH4QZOUJWJS","plan_hash":"aeedb51fd0622a6caf97cef6e3667c8a531b1f8e1ad296392a84a02c56fabb00","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_lhgagabfthlwxvz26m5tt64egm","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-4HSZCJ','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(17,'db5649ff74e13eb0b52f66664dd04e0218b87d54f30b2c1b185ba4e842459485','{"action":"set","also":[["finding","F-NMPCW9","open","awaiting_approval"]],"facts":[["finding","F-NMPCW9","af3e275f9407aa0210fbe4e57314ffc5","c23db88ea09a3212db7ff7bcc7c42100"],["plan","P-MYGTCN5XIR5Y",null,"6eebde3fd17b4893238b7bf750d1abc1"]],"finding":"F-NMPCW9","from":null,"plan":"P-MYGTCN5XIR5Y","plan_hash":"c527ef155f88c1503f080e738c8fcb80e22a41fbf7e9a62c99524f2c08bed58f","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_lhgagabfthlwxvz26m5tt64egm","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-NMPCW9','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(18,'cd671506d37a064f34d67cdaa8d7509f06bba3b99265de2bd1f8d3139fa05efd','{"channel":"team","facts":[["rule","twins","b8f238fc14eb0fc18cb0526cd28dfe87","6e9095325a359af0f24e588d92a34094"]],"message":"msg1_3053c0038afedeb8765565b2","run":"run1_lhgagabfthlwxvz26m5tt64egm"}',NULL,'run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(19,'b036f4b7a2aed52a139f934767f5a59040cddaa5b2312ac9e53b8f784fbb7a70','{"attempt":1,"failed":[],"job":"nightly","release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":["twins","persons","paid","negative"],"run":"run1_lhgagabfthlwxvz26m5tt64egm","slot":"2026-11-30T17:11:57.363418Z","started":"2026-11-30T17:11:59.832744Z","status":"succeeded","trigger":"manual"}',NULL,'run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(20,'324f3a0897aaee6ffa79ea6d70f2c8872833253cc5f3cb62b6869a6d403c9a4a','{"attempt":1,"channel":"team","message":"msg1_3053c0038afedeb8765565b2","outcome_unknown":false,"run":"run1_lhgagabfthlwxvz26m5tt64egm"}',NULL,'run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(21,'a3d65e88133e0d7998f29d171f1b18f83b724880bcdeac3d577e477b18521b98','{"attempt":1,"channel":"team","found":false,"message":"msg1_3053c0038afedeb8765565b2","receipt":{"details":{"notice":"msg1_3053c0038afedeb8765565b2"},"where":"file messages.jsonl"},"run":"run1_lhgagabfthlwxvz26m5tt64egm"}',NULL,'run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(22,'885b7aafe1e5360aabc666ddcf6f726c16f5307835db75b8256bc99cffa99289','{"facts":[["finding","F-NMPCW9","c23db88ea09a3212db7ff7bcc7c42100","94664436563f210dc618c45f9b4c7ab9"],["limits","rule:twins","71faac4a201bec39a44157458c1efdf1","13f7e2ccf68272a5aaef71eb44f21acf"],["limits","target:sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db","638d26d74d375a2722f598638f10c0a1","8ea6277071ff34fc15d3262e82a758b2"]],"finding":"F-NMPCW9","note":"the newer address","record":"bf50292df11b27e099822e8858f0ee10","records":2,"rule":"twins","version":3}','F-NMPCW9',NULL);
INSERT INTO "audit_bodies" VALUES(23,'9101de5268898ab87d80ea75ad5ee537d36c6a4c9529050ca287c1588a477d34','{"facts":[["plan","P-MYGTCN5XIR5Y","6eebde3fd17b4893238b7bf750d1abc1","0fc6ddc82c9858307299b9da0bab46c2"]],"fence":0,"finding":"F-NMPCW9","from":"awaiting_approval","plan":"P-MYGTCN5XIR5Y","reason":"root chose another keeper","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"skipped"}','F-NMPCW9','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(24,'84a337795967f3f54b81fe92814a40c6c595c823a2942917a0300fdc86ba4fac','{"action":"set","facts":[["plan","P-VIZHK3ZHVRYU",null,"696d37ace2c4758f63d4706da2cf01be"]],"finding":"F-NMPCW9","from":null,"plan":"P-VIZHK3ZHVRYU","plan_hash":"090216bcf5b1f786287cebb5846341ae46641123305feb336d9f3b4102afaab3","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":null,"to":"awaiting_approval","undoes":null}','F-NMPCW9',NULL);
INSERT INTO "audit_bodies" VALUES(25,'26afb8e9f8170057e0bef04d6aa7653375032778fc0e9adb0153452dbc46ed7d','{"by":"root","decision":"approved","facts":[["finding","F-0JEJ56","2aa14b21a48a6f8acd29cde97eaae9cf","7b8219764df45b77cc828f8e8dc80d29"],["plan","P-DS22E52LX6DB","49f43eedf722f22963e4e0afc42245ff","a859f40b794841c8588d7d9a1e49a2eb"]],"finding":"F-0JEJ56","plan":"P-DS22E52LX6DB","plan_hash":"af91d8ad4ae82066ab9a24c620e83bdb94453ed2cf03fa58ce79e0ec40dea412","system":"root@vm","was":null}','F-0JEJ56',NULL);
INSERT INTO "audit_bodies" VALUES(26,'344ef27cb4bea54956382d50b556127f302321af1eceabd5c2f1dd93584e06e1','{"also":[["finding","F-0JEJ56","awaiting_approval","approved"]],"fence":0,"finding":"F-0JEJ56","from":"awaiting_approval","plan":"P-DS22E52LX6DB","run":"run1_lhgagabfthlwxvz26m5tt64egm","story":"finding.approved","to":"approved"}','F-0JEJ56','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(27,'a1cb58fb0fd03c9cdd75c668e85799ef2e6f562a803ce579975e9ff8b2df5193','{"source":"shop","target":"sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db"}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(28,'1531c533d41d352212c76a2a126c9091f37ba6fd6bd701af613bdc0274d580e8','{"also":[["finding","F-0JEJ56","approved","cleaning"]],"attempt":1,"facts":[["plan","P-DS22E52LX6DB","a859f40b794841c8588d7d9a1e49a2eb","d25ead3c4840caa2e15f0d70034e02ab"]],"fence":1,"finding":"F-0JEJ56","from":"approved","keys":["rk1.hjojg2.krbirs7hnpcnyxhce77g5hvgmtjhx2h5hytd3pkcejgfh3kfljvq"],"plan":"P-DS22E52LX6DB","run":"run1_lhgagabfthlwxvz26m5tt64egm","story":"finding.cleaning","to":"sent"}','F-0JEJ56','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(29,'a3e96ba1d3bff31ae21ef4f56e3f5bcbf02ab6928b953a6ad2699419054427b2','{"also":[["finding","F-0JEJ56","cleaning","cleaned"]],"facts":[["finding","F-0JEJ56","7b8219764df45b77cc828f8e8dc80d29","f7e721b19a44b15db3db4411aecc1539"],["plan","P-DS22E52LX6DB","d25ead3c4840caa2e15f0d70034e02ab","2c2c89598ef4186580687ec979d412cc"]],"fence":1,"finding":"F-0JEJ56","from":"sent","plan":"P-DS22E52LX6DB","run":"run1_lhgagabfthlwxvz26m5tt64egm","story":"finding.cleaned","to":"succeeded"}','F-0JEJ56','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(30,'47be5e8fac848482f2b6811b1b7a43de7bcc8831d370018687282115e8b98ccf','{"by":"root","decision":"approved","facts":[["finding","F-4HSZCJ","5336d884b47d26146f2bfd755042facf","e493b7de3efd45e333d06297059b0f87"],["plan","P-6WH4QZOUJWJS","041b1e80a9dfc4d04ca0aebddaa7c109","774e864aaab8af3e7242fad065a749be"]],"finding":"F-4HSZCJ","plan":"P-6WH4QZOUJWJS","plan_hash":"aeedb51fd0622a6caf97cef6e3667c8a531b1f8e1ad296392a84a02c56fabb00","system":"root@vm","was":null}','F-4HSZCJ',NULL);
INSERT INTO "audit_bodies" VALUES(31,'847ff39325b9bcd1308378ed5a07a51e33ffb4550827a1c2ad0b1c62586f7985','{"also":[["finding","F-4HSZCJ","awaiting_approval","approved"]],"fence":0,"finding":"F-4HSZCJ","from":"awaiting_approval","plan":"P-6WH4QZOUJWJS","run":"run1_lhgagabfthlwxvz26m5tt64egm","story":"finding.approved","to":"approved"}','F-4HSZCJ','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(32,'7c60ebea3819bbdb42923eeea4fbaef3687d944c8d40c79ee0c568c04b35d446','{"also":[["finding","F-4HSZCJ","approved","cleaning"]],"attempt":1,"facts":[["plan","P-6WH4QZOUJWJS","774e864aaab8af3e7242fad065a749be","6718ec552cbf14d1a3cc7d2ffb5b6e9c"]],"fence":1,"finding":"F-4HSZCJ","from":"approved","keys":["rk1.hjojg2.wyym4swcsmabpz3fcet4plkpzweaw23v4w4iohjcjm7yflu5ccpq"],"plan":"P-6WH4QZOUJWJS","run":"run1_lhgagabfthlwxvz26m5tt64egm","story":"finding.cleaning","to":"sent"}','F-4HSZCJ','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(33,'1f6b43722cc7b09bc272856c20331a6ab2d42b4f905b6124c60c918a263adedc','{"also":[["finding","F-4HSZCJ","cleaning","cleaned"]],"facts":[["finding","F-4HSZCJ","e493b7de3efd45e333d06297059b0f87","02ba20a3bd47eeed7a6dd2cc186e658c"],["plan","P-6WH4QZOUJWJS","6718ec552cbf14d1a3cc7d2ffb5b6e9c","2d9e219ef02539701b5981337a4dc2ea"]],"fence":1,"finding":"F-4HSZCJ","from":"sent","plan":"P-6WH4QZOUJWJS","run":"run1_lhgagabfthlwxvz26m5tt64egm","story":"finding.cleaned","to":"succeeded"}','F-4HSZCJ','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(34,'fc14d839d998194b42477d0d40c8f51122da8517b92af0ec9746c07236f95346','{"action":"undo","facts":[["plan","P-MU6MEOES3KXL",null,"ea2c9449b8cea75b121fc10c24942455"]],"finding":"F-0JEJ56","from":null,"plan":"P-MU6MEOES3KXL","plan_hash":"37c6a400c49d5eb80006583ff63495a1950cc25ad493aab82b54df6eab6b32b3","policy":"none","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":null,"to":"approved","undoes":"P-DS22E52LX6DB"}','F-0JEJ56',NULL);
INSERT INTO "audit_bodies" VALUES(35,'15de5195084dd122a43f9e63a3ccc00369281ddeae07dd2cfa03efe1d9450caa','{"also":[["plan","P-DS22E52LX6DB","succeeded","compensating"]],"attempt":1,"facts":[["plan","P-MU6MEOES3KXL","ea2c9449b8cea75b121fc10c24942455","88c2c71bb82c2d3aebe61253e60f7e17"]],"fence":1,"finding":"F-0JEJ56","from":"approved","keys":["rk1.hjojg2.ndtrtqzgqnoqe7l4bicgcnid7q4ni2ahmlv4smctpb2cnlnnocja"],"plan":"P-MU6MEOES3KXL","run":null,"to":"sent"}','F-0JEJ56',NULL);
INSERT INTO "audit_bodies" VALUES(36,'88f214d48380cea4e7ec77202ac54865001db091b9f0c67dfc949e32ba9d20cf','{"also":[["plan","P-DS22E52LX6DB","compensating","compensated"],["finding","F-0JEJ56","cleaned","undone"]],"facts":[["finding","F-0JEJ56","f7e721b19a44b15db3db4411aecc1539","a2891abdf76c92edf58aa5aa9def57d4"],["plan","P-MU6MEOES3KXL","88c2c71bb82c2d3aebe61253e60f7e17","3776789c3e474334d1b0211716cd5669"]],"fence":1,"finding":"F-0JEJ56","from":"sent","plan":"P-MU6MEOES3KXL","run":null,"story":"finding.undone","to":"succeeded"}','F-0JEJ56',NULL);
INSERT INTO "audit_bodies" VALUES(37,'5161efa7f89fc0185983dd148d6a7dcfadf915839e61c5f332bee5f9d802746b','{"facts":[["finding","F-1T2G2E","bacc9f918a0f05252ee4e806bc572e01","6b0e0fccbcc565a5d9246a3a12d701cf"],["plan","P-5YJPQKZKT2EE","e87a8ca48d96b4e69255b7b7d46393ec","f575e4bff16e25370bf21b7ea8e7e305"],["limits","rule:twins","13f7e2ccf68272a5aaef71eb44f21acf","7554bfce2304e996fa733a1354cd140c"],["limits","target:sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db","8ea6277071ff34fc15d3262e82a758b2","c228674c7d1d45750e7b469e0d4d7044"]],"fence":0,"finding":"F-1T2G2E","from":"awaiting_approval","plan":"P-5YJPQKZKT2EE","reason":"dismissed by root","run":"run1_lhgagabfthlwxvz26m5tt64egm","to":"skipped"}','F-1T2G2E','run1_lhgagabfthlwxvz26m5tt64egm');
INSERT INTO "audit_bodies" VALUES(38,'45425d24a8d4ffe0dd07e22d5e4c3f94554281b94644d3086e7cd917e0551b59','{"finding":"F-1T2G2E","from":"awaiting_approval","note":"two people","pairs":1,"records":2,"rule":"twins","to":"dismissed","version":2}','F-1T2G2E',NULL);
INSERT INTO "audit_bodies" VALUES(39,'b3df6d0c29effd29d873b53363c648ddf8c0ceaf7103a0469235961a588d31db','{"facts":[["finding","F-GGZ193","ca96f9040034ac88926e24b799b249a1","2af95edbfb8ec08982479d35afdc4d0e"]],"finding":"F-GGZ193","from":"open","records":2,"rule":"persons","to":"snoozed","until":"2999-01-01 00:00 UTC","version":1}','F-GGZ193',NULL);
INSERT INTO "audit_bodies" VALUES(40,'428da8e8f36c657c3d22f41b52c022585d0ca505a921c0880d32979084522e6e','{"facts":[["finding","F-SMSWQM","08542bacb8d85504d60998a7519e479d","db68564346582f78c34b28f4c8e798a7"]],"finding":"F-SMSWQM","rule":"persons","whom":"bob"}','F-SMSWQM',NULL);
INSERT INTO "audit_bodies" VALUES(41,'52269274a2a1f97bc9a8a34de568c9a5b2ba22db7f774d7c631dc2a74d5639f5','{"facts":[["finding","F-WBGQ3B","78c8740e832d5b0d02f425d82eae6668","e2aa1b5d9393bd593fc7960d8cf1f930"]],"finding":"F-WBGQ3B","from":"open","note":"refunded","pairs":0,"records":1,"rule":"paid","to":"handled","version":1}','F-WBGQ3B',NULL);
INSERT INTO "audit_bodies" VALUES(42,'646c59b0677fd5f91a6d1f2f2154f451176e32ceb42de8d5a8c8ee811dc77e51','{"facts":[["user","ada",null,"a5abc577a3624054ff8acefe38a4ef24"]],"role":"operator","sees_personal":false,"user":"ada"}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(43,'c0a482325110cc6a2fe58ae511df1798c0fda6c99426d8d7012bcec7cd9a8de2','{"facts":[["finding","F-34W2BT","9aa13e79e194d15b54293e6183d8f9e5","fedd01777be0d2419dcb48e8fb7881de"]],"finding":"F-34W2BT","from":"open","records":1,"rule":"paid","run":"run1_kgkpioz57ykaecwk3thzk7br4e","to":"resolved","version":1,"why":"its records no longer match"}','F-34W2BT','run1_kgkpioz57ykaecwk3thzk7br4e');
INSERT INTO "audit_bodies" VALUES(44,'4509c1a379b7efe7eb2cba5e453b0f0337d95a17260595ef7cc581bca977edcc','{"facts":[["finding","F-ZD3SX1",null,"f1af90557c2914726ca686e25a432981"]],"finding":"F-ZD3SX1","from":null,"records":1,"rule":"paid","run":"run1_kgkpioz57ykaecwk3thzk7br4e","to":"open","version":1}','F-ZD3SX1','run1_kgkpioz57ykaecwk3thzk7br4e');
INSERT INTO "audit_bodies" VALUES(45,'f7da304b7b3b24862788b091eafe47c0ca1f43a1edcdc604369298b686dc2dbe','{"facts":[["finding","F-CHM8N6","4f29fb831bb2726ec6f29b0348ebca4c","ad6e84d74a778f58cff10104020cf97f"]],"finding":"F-CHM8N6","from":"open","records":1,"rule":"negative","run":"run1_kgkpioz57ykaecwk3thzk7br4e","to":"resolved","version":1,"why":"its records no longer match"}','F-CHM8N6','run1_kgkpioz57ykaecwk3thzk7br4e');
INSERT INTO "audit_bodies" VALUES(46,'746cea2a80b76873bcbd76e7841d8a62c3ce0912e779b6ccbe46a783862850da','{"facts":[["limits","rule:twins","7554bfce2304e996fa733a1354cd140c","0c90963de9ebb2b8e520a6bf0fe4f981"],["limits","target:sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db","c228674c7d1d45750e7b469e0d4d7044","3ae2205e61c533cd1d29b820a7c4620f"],["plan","P-VIZHK3ZHVRYU","696d37ace2c4758f63d4706da2cf01be","a5e9ab718dec7729342d91cc200fa002"]]}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(47,'dab13d49b1d6d7bd9cfcb59c255ee2072ec857403c3b8cd4bd96564855cf4095','{"channel":"team","message":"msg1_17e6241d041f8bff14d3cf2c","run":"run1_kgkpioz57ykaecwk3thzk7br4e"}',NULL,'run1_kgkpioz57ykaecwk3thzk7br4e');
INSERT INTO "audit_bodies" VALUES(48,'b9ed1fd4a28b47067e43d0d58c57a5fe8aa72614536bcad037d5e9066d2267de','{"attempt":1,"failed":[],"job":"nightly","release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":["twins","persons","paid","negative"],"run":"run1_kgkpioz57ykaecwk3thzk7br4e","slot":"2026-11-30T17:12:09.974654Z","started":"2026-11-30T17:12:10.027110Z","status":"succeeded","trigger":"manual"}',NULL,'run1_kgkpioz57ykaecwk3thzk7br4e');
INSERT INTO "audit_bodies" VALUES(49,'99ab198f63ab18849cf0c4c4398c3a31918949707bd735c0b98b6a7ab7a87c25','{"attempt":1,"channel":"team","message":"msg1_17e6241d041f8bff14d3cf2c","outcome_unknown":false,"run":"run1_kgkpioz57ykaecwk3thzk7br4e"}',NULL,'run1_kgkpioz57ykaecwk3thzk7br4e');
INSERT INTO "audit_bodies" VALUES(50,'6913092d6780fa004e39f4384ea944fae9fcbe1bae20a0cda50f51a878fbad65','{"attempt":1,"channel":"team","found":false,"message":"msg1_17e6241d041f8bff14d3cf2c","receipt":{"details":{"notice":"msg1_17e6241d041f8bff14d3cf2c"},"where":"file messages.jsonl"},"run":"run1_kgkpioz57ykaecwk3thzk7br4e"}',NULL,'run1_kgkpioz57ykaecwk3thzk7br4e');
CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	head TEXT NOT NULL, 
	CONSTRAINT pk_audit_head PRIMARY KEY (id), 
	CONSTRAINT ck_audit_head_one_row CHECK (id = 1)
);
INSERT INTO "audit_head" VALUES(1,50,'018dcce84aaff6ffc0fcce535838efbbef11693d1687a07c45596c669fec4835');
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
INSERT INTO "checkpoints" VALUES(21,1,'510fd81aceea6121e072b68f516dd86afb7a354bda0dbc30f21656ab896f11c0','2026-11-30T17:12:04.525202Z','470318c18303493a807e3c59ef0397b9db04cbe7fcaea08fa285083c3bdc7899','abcdd18b58d0bef85073b3a4d919d8f62b6ba11d3e94cb963a9de25e34b21b6f3c1973deba673478f91602bd81f1851c1dec00b83ef4e8802dac08e808fdc90d');
INSERT INTO "checkpoints" VALUES(24,1,'0e97d58159fc5eb3dc0d34a69215993c6b002e11af310a774db2b98274d71168','2026-11-30T17:12:05.700943Z','470318c18303493a807e3c59ef0397b9db04cbe7fcaea08fa285083c3bdc7899','a809a20905520ee075551d9905c1b96474b1d868c59c16b8d386fe87c7a57a65b2206a846bd3f2acddf2106c1dcaebfa8040d9b92f4f6211f418c67d00af8209');
INSERT INTO "checkpoints" VALUES(33,1,'491470ac8583c24e00fcedd7e2a13b61de1e80777fd92ea51b126cc1e9c0ffa2','2026-11-30T17:12:07.611221Z','470318c18303493a807e3c59ef0397b9db04cbe7fcaea08fa285083c3bdc7899','a3e571ba214c43f7311ef18306dfac7ad53b931a94eea0dea3d267c00c28b69d4e4f85bf73867564496205e7474c00d73397f6224c3384dfa27dbbe602b76909');
INSERT INTO "checkpoints" VALUES(36,1,'a0ce9250e41bf71c939a13adbab242cecfc657cd43da0cd8b8e33ddbef26affd','2026-11-30T17:12:08.220658Z','470318c18303493a807e3c59ef0397b9db04cbe7fcaea08fa285083c3bdc7899','2a08cb40c375c42245e4699ab5312d0a24b27418d8809024b9f56a03a3d3934733bb304522ca216747ee0e667fa6be09e00730c77fa4ac86c96b1e9295904400');
INSERT INTO "checkpoints" VALUES(50,1,'018dcce84aaff6ffc0fcce535838efbbef11693d1687a07c45596c669fec4835','2026-11-30T17:12:13.166336Z','470318c18303493a807e3c59ef0397b9db04cbe7fcaea08fa285083c3bdc7899','357dabadc1e3511ffcc68fe0233163779e44674c9657533c3580aecd44661977a1e8ae476310a03e86d38265f150a08373311affe47da49b913849d58664c606');
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
INSERT INTO "dataset_schemas" VALUES('customers','twins','1e25c805782bdb4a8494d66807fb20b12c66ed294a8079cc2f1ac0983bc976c7','{"groups":[["run1_lhgagabfthlwxvz26m5tt64egm",4],["run1_kgkpioz57ykaecwk3thzk7br4e",3]],"previous":{"bare":{},"cleaned":0,"empty":{},"groups":4,"lacking":{"email":0.0,"id":0.0,"status":0.0},"members":8,"read":8,"rule":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","run":"run1_lhgagabfthlwxvz26m5tt64egm","types":{"email":"text","id":"integer","merged_into":"integer","name":"text","phone":"text","status":"text"},"used":["email","id","merged_into","status"]},"shape":{"bare":{},"cleaned":0,"empty":{},"groups":3,"lacking":{"email":0.0,"id":0.0,"status":0.0},"members":6,"read":8,"rule":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","run":"run1_kgkpioz57ykaecwk3thzk7br4e","types":{"email":"text","id":"integer","merged_into":"integer","name":"text","phone":"text","status":"text"},"used":["email","id","merged_into","status"]},"waiting":null}','2026-11-30T17:12:10.515184Z');
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
INSERT INTO "dataset_stats" VALUES('customers','twins','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:00.661854Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('customers','persons','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:01.685929Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('orders','paid','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:02.807949Z',3,3,0,4);
INSERT INTO "dataset_stats" VALUES('charges','paid','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:02.807949Z',4,4,0,4);
INSERT INTO "dataset_stats" VALUES('charges','negative','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:03.095279Z',4,4,0,1);
INSERT INTO "dataset_stats" VALUES('customers','twins','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:10.515184Z',8,7,0,3);
INSERT INTO "dataset_stats" VALUES('customers','persons','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:10.752435Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('orders','paid','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:11.667179Z',3,3,0,4);
INSERT INTO "dataset_stats" VALUES('charges','paid','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:11.667179Z',4,4,0,4);
INSERT INTO "dataset_stats" VALUES('charges','negative','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:11.974487Z',4,4,0,0);
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
INSERT INTO "effects" VALUES('rk1.hjojg2.krbirs7hnpcnyxhce77g5hvgmtjhx2h5hytd3pkcejgfh3kfljvq','P-DS22E52LX6DB','sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','set:merged_into,status','f31eec38e87cbb510083dcf59ce1327f2b5914d555448f21914ef67103f145a9',1,'17b9d838f626279715c4bb2731e5675dbd0882e03773127b1d20f64ee4498a0f','compensated',0,'2026-11-30T17:12:06.664640Z','2026-11-30T17:12:06.760044Z');
INSERT INTO "effects" VALUES('rk1.hjojg2.wyym4swcsmabpz3fcet4plkpzweaw23v4w4iohjcjm7yflu5ccpq','P-6WH4QZOUJWJS','sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','set:merged_into,status','5f57bc8a127fa2c9ac99c64f854c998d17bcfb3e729c4d95160524a8ba215afd',1,'a4ef222164f8c2b7c2484bb00e79e2db5b63b58d22ccd052c81e80877ba0418e','succeeded',0,'2026-11-30T17:12:07.502483Z','2026-11-30T17:12:07.574333Z');
INSERT INTO "effects" VALUES('rk1.hjojg2.ndtrtqzgqnoqe7l4bicgcnid7q4ni2ahmlv4smctpb2cnlnnocja','P-MU6MEOES3KXL','sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','set:merged_into,status.undo','f31eec38e87cbb510083dcf59ce1327f2b5914d555448f21914ef67103f145a9',1,'cae6b2c1774f849fd50229698fcd6b375d72d0608b8156ecf689ac9913734d47','succeeded',0,'2026-11-30T17:12:08.017881Z','2026-11-30T17:12:08.098350Z');
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
INSERT INTO "facts" VALUES('finding','F-0JEJ56','a2891abdf76c92edf58aa5aa9def57d4');
INSERT INTO "facts" VALUES('finding','F-1T2G2E','6b0e0fccbcc565a5d9246a3a12d701cf');
INSERT INTO "facts" VALUES('finding','F-4HSZCJ','02ba20a3bd47eeed7a6dd2cc186e658c');
INSERT INTO "facts" VALUES('finding','F-NMPCW9','94664436563f210dc618c45f9b4c7ab9');
INSERT INTO "facts" VALUES('rule','twins','6e9095325a359af0f24e588d92a34094');
INSERT INTO "facts" VALUES('finding','F-GGZ193','2af95edbfb8ec08982479d35afdc4d0e');
INSERT INTO "facts" VALUES('finding','F-SMSWQM','db68564346582f78c34b28f4c8e798a7');
INSERT INTO "facts" VALUES('finding','F-ZJPPRJ','66abcf4bafade70b253eb5f9cf00aa98');
INSERT INTO "facts" VALUES('finding','F-ZWT2S0','368d5518d39f0f4fdfc20fadd1b8bd47');
INSERT INTO "facts" VALUES('rule','persons','db414357a19d61bd3eacd64a00a64db8');
INSERT INTO "facts" VALUES('finding','F-34W2BT','fedd01777be0d2419dcb48e8fb7881de');
INSERT INTO "facts" VALUES('finding','F-C2X038','94f6e5416aed0a5e1593166f21242ddd');
INSERT INTO "facts" VALUES('finding','F-V9W2TR','2b312a18a93956b864234196d7926088');
INSERT INTO "facts" VALUES('finding','F-WBGQ3B','e2aa1b5d9393bd593fc7960d8cf1f930');
INSERT INTO "facts" VALUES('rule','paid','b3849be2ee64e44aaeb2664ce0a9ba5e');
INSERT INTO "facts" VALUES('finding','F-CHM8N6','ad6e84d74a778f58cff10104020cf97f');
INSERT INTO "facts" VALUES('rule','negative','1c76e968ecd6a6a6339565aa5073750c');
INSERT INTO "facts" VALUES('plan','P-5YJPQKZKT2EE','f575e4bff16e25370bf21b7ea8e7e305');
INSERT INTO "facts" VALUES('plan','P-6WH4QZOUJWJS','2d9e219ef02539701b5981337a4dc2ea');
INSERT INTO "facts" VALUES('plan','P-DS22E52LX6DB','2c2c89598ef4186580687ec979d412cc');
INSERT INTO "facts" VALUES('plan','P-MYGTCN5XIR5Y','0fc6ddc82c9858307299b9da0bab46c2');
INSERT INTO "facts" VALUES('limits','rule:twins','0c90963de9ebb2b8e520a6bf0fe4f981');
INSERT INTO "facts" VALUES('limits','target:sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','3ae2205e61c533cd1d29b820a7c4620f');
INSERT INTO "facts" VALUES('plan','P-VIZHK3ZHVRYU','a5e9ab718dec7729342d91cc200fa002');
INSERT INTO "facts" VALUES('plan','P-MU6MEOES3KXL','3776789c3e474334d1b0211716cd5669');
INSERT INTO "facts" VALUES('user','ada','a5abc577a3624054ff8acefe38a4ef24');
INSERT INTO "facts" VALUES('finding','F-ZD3SX1','f1af90557c2914726ca686e25a432981');
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
INSERT INTO "finding_aliases" VALUES('7b78eed930f265771e152d5be132faf6a6979eb2cdf4073177837cc6581742c3','F-0JEJ56','2026-11-30T17:12:00.661854Z');
INSERT INTO "finding_aliases" VALUES('8d0867d1f301957fc530ec9ada71c6413d4e0356e111d5f4578cb7fe8bf104d5','F-1T2G2E','2026-11-30T17:12:00.661854Z');
INSERT INTO "finding_aliases" VALUES('137cf716af983dad57cae9dad9897219da3f84fe0f7ca16d9633f433dadae2bc','F-4HSZCJ','2026-11-30T17:12:00.661854Z');
INSERT INTO "finding_aliases" VALUES('d77034a138293c079229cccc8ab5148a1ff7c179c35013e14165e5cb598a5048','F-NMPCW9','2026-11-30T17:12:00.661854Z');
INSERT INTO "finding_aliases" VALUES('4de1127e30e667b660741382ba4887787791903f7d29ed11dbff41c013f6f298','F-GGZ193','2026-11-30T17:12:01.685929Z');
INSERT INTO "finding_aliases" VALUES('7f80b75f46db68efc66ab0186d2dbc910635a0901d2bbc14b37c8ef5a8df26bd','F-SMSWQM','2026-11-30T17:12:01.685929Z');
INSERT INTO "finding_aliases" VALUES('0a20151e72ec0d5de32aacb69a026ba5dfc1f33f0f5346f384234164cc8e5357','F-ZJPPRJ','2026-11-30T17:12:01.685929Z');
INSERT INTO "finding_aliases" VALUES('c8005c8f81e4564a0d5105828a02754bfad90e2457c46cc11fe28fae37d22bcf','F-ZWT2S0','2026-11-30T17:12:01.685929Z');
INSERT INTO "finding_aliases" VALUES('fee42b732737579d256fc8949f537ed39d92ff1a01edc2197e881558b1ce26ae','F-34W2BT','2026-11-30T17:12:02.807949Z');
INSERT INTO "finding_aliases" VALUES('cde5ffef6644b8d5fcdc4893c022ea7c19026f894f92051f9cbfb9ce974c9784','F-C2X038','2026-11-30T17:12:02.807949Z');
INSERT INTO "finding_aliases" VALUES('6cf4c4403c4ad7c3c91ec17679af2587450d5b6e598cbcd95410d74d2cda5a74','F-V9W2TR','2026-11-30T17:12:02.807949Z');
INSERT INTO "finding_aliases" VALUES('e6be0250e6a167f7c8a4b4ad09ab4b19c14f2a447611e58d190d68d7865d86e6','F-WBGQ3B','2026-11-30T17:12:02.807949Z');
INSERT INTO "finding_aliases" VALUES('8844f17012983db39e6a72a011555afe8ffcb90c228e74e2b97c86edbbea3889','F-CHM8N6','2026-11-30T17:12:03.095279Z');
INSERT INTO "finding_aliases" VALUES('d690e314d68d87444246c277eccbe914cee2dd0ae0822749439057d1fa36cd43','F-ZD3SX1','2026-11-30T17:12:11.667179Z');
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
INSERT INTO "finding_members" VALUES('F-0JEJ56','[["n","1"]]',0,'keeper','[["email",["t","ada@example.com"]],["id",["z","1"]]]','2026-11-30T17:12:00.661854Z','2026-11-30T17:12:06.760044Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-0JEJ56','[["n","2"]]',1,'surplus','[["email",["t"," Ada@example.com"]],["id",["z","2"]]]','2026-11-30T17:12:00.661854Z','2026-11-30T17:12:06.760044Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-1T2G2E','[["n","5"]]',0,'keeper','[["email",["t","cy@example.com"]],["id",["z","5"]]]','2026-11-30T17:12:00.661854Z','2026-11-30T17:12:08.320995Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-1T2G2E','[["n","6"]]',1,'surplus','[["email",["t","cy@example.com"]],["id",["z","6"]]]','2026-11-30T17:12:00.661854Z','2026-11-30T17:12:08.320995Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-4HSZCJ','[["n","3"]]',0,'keeper','[["email",["t","bob@example.com"]],["id",["z","3"]]]','2026-11-30T17:12:00.661854Z','2026-11-30T17:12:07.574333Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-4HSZCJ','[["n","4"]]',1,'surplus','[["email",["t","BOB@example.com"]],["id",["z","4"]]]','2026-11-30T17:12:00.661854Z','2026-11-30T17:12:07.574333Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-NMPCW9','[["n","7"]]',0,'keeper','[["email",["t","di@example.com"]],["id",["z","7"]]]','2026-11-30T17:12:00.661854Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-NMPCW9','[["n","8"]]',1,'surplus','[["email",["t","di@example.com"]],["id",["z","8"]]]','2026-11-30T17:12:00.661854Z',NULL,'root','2026-11-30T17:12:05.513072Z',NULL);
INSERT INTO "finding_members" VALUES('F-GGZ193','[["n","3"]]',0,'keeper','[["phone",["t","+49 3"]],["name",["t","Bob Roe"]]]','2026-11-30T17:12:01.685929Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-GGZ193','[["n","4"]]',1,'surplus','[["phone",["t","+49 4"]],["name",["t","Bob Roe"]]]','2026-11-30T17:12:01.685929Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-SMSWQM','[["n","7"]]',0,'keeper','[["phone",["t","+49 7"]],["name",["t","Di Poe"]]]','2026-11-30T17:12:01.685929Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-SMSWQM','[["n","8"]]',1,'surplus','[["phone",["t","+49 8"]],["name",["t","Di Poe"]]]','2026-11-30T17:12:01.685929Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-ZJPPRJ','[["n","1"]]',0,'keeper','[["phone",["t","+49 1"]],["name",["t","Ada Byron"]]]','2026-11-30T17:12:01.685929Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-ZJPPRJ','[["n","2"]]',1,'surplus','[["phone",["t","+49 1"]],["name",["t","A. Byron"]]]','2026-11-30T17:12:01.685929Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-ZWT2S0','[["n","5"]]',0,'keeper','[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','2026-11-30T17:12:01.685929Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-ZWT2S0','[["n","6"]]',1,'surplus','[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','2026-11-30T17:12:01.685929Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-34W2BT','[["@","charges"],["t","c4"]]',0,'right','[["order_id",["t","E"]],["amount",["n","-3.00"]]]','2026-11-30T17:12:02.807949Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-C2X038','[["t","B"]]',0,'left','[["id",["t","B"]],["total",["n","20.00"]]]','2026-11-30T17:12:02.807949Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-C2X038','[["@","charges"],["t","c2"]]',1,'right','[["order_id",["t","B"]],["amount",["n","21.50"]]]','2026-11-30T17:12:02.807949Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-V9W2TR','[["@","charges"],["t","c3"]]',0,'right','[["order_id",["t","D"]],["amount",["n","7.00"]]]','2026-11-30T17:12:02.807949Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-WBGQ3B','[["t","C"]]',0,'left','[["id",["t","C"]],["total",["n","30.00"]]]','2026-11-30T17:12:02.807949Z','2026-11-30T17:12:08.859143Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-CHM8N6','[["t","c4"]]',0,'record','[["amount",["n","-3.00"]]]','2026-11-30T17:12:03.095279Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-ZD3SX1','[["@","charges"],["t","c5"]]',0,'right','[["order_id",["t","F"]],["amount",["n","99.00"]]]','2026-11-30T17:12:11.667179Z',NULL,NULL,NULL,NULL);
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
INSERT INTO "findings" VALUES('F-0JEJ56','7b78eed930f265771e152d5be132faf6a6979eb2cdf4073177837cc6581742c3','twins','duplicates','customers','undone',3,2,'[["email",["t","ada@example.com"]]]','{"change":"new","decided":"undone","not_undone":null,"reason":null,"settled_key":[["email",["t","ada@example.com"]]],"span":null,"summary":true}','{}',2,'run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:00.661854Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:10.515184Z','2026-11-30T17:12:08.098350Z',NULL,NULL,'root',NULL,NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-1T2G2E','8d0867d1f301957fc530ec9ada71c6413d4e0356e111d5f4578cb7fe8bf104d5','twins','duplicates','customers','dismissed',3,2,'[["email",["t","cy@example.com"]]]','{"change":"new","decided":"dismissed","reason":null,"settled_key":[["email",["t","cy@example.com"]]],"span":null,"summary":true}','{}',2,'run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:00.661854Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:10.515184Z','2026-11-30T17:12:08.320995Z',NULL,NULL,'root','two people',NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-4HSZCJ','137cf716af983dad57cae9dad9897219da3f84fe0f7ca16d9633f433dadae2bc','twins','duplicates','customers','cleaned',3,2,'[["email",["t","bob@example.com"]]]','{"change":"new","reason":null,"settled_key":[["email",["t","bob@example.com"]]],"span":null,"summary":true}','{}',2,'run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:00.661854Z','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:00.661854Z','2026-11-30T17:12:07.574333Z',NULL,NULL,'root',NULL,NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-NMPCW9','d77034a138293c079229cccc8ab5148a1ff7c179c35013e14165e5cb598a5048','twins','duplicates','customers','awaiting_approval',3,3,'[["email",["t","di@example.com"]]]','{"change":"new","reason":null,"span":null,"summary":true}','{}',2,'run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:00.661854Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:10.515184Z','2026-11-30T17:12:05.513072Z',NULL,NULL,NULL,'the newer address',NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-GGZ193','4de1127e30e667b660741382ba4887787791903f7d29ed11dbff41c013f6f298','persons','duplicates','customers','snoozed',3,1,'[["name",["t","Bob Roe"]]]','{"change":"new","judged":[["@by name",["t","Bob Roe"]]],"links":[[0,1,[1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:01.685929Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:10.752435Z','2026-11-30T17:12:08.540294Z','2999-01-01T00:00:00.000000Z',NULL,'root',NULL,NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-SMSWQM','7f80b75f46db68efc66ab0186d2dbc910635a0901d2bbc14b37c8ef5a8df26bd','persons','duplicates','customers','open',3,1,'[["name",["t","Di Poe"]]]','{"change":"new","judged":[["@by name",["t","Di Poe"]]],"links":[[0,1,[1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:01.685929Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:10.752435Z','2026-11-30T17:12:01.685929Z',NULL,'bob',NULL,NULL,NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-ZJPPRJ','0a20151e72ec0d5de32aacb69a026ba5dfc1f33f0f5346f384234164cc8e5357','persons','duplicates','customers','open',3,1,'[["phone",["t","+49 1"]]]','{"change":"new","judged":[["@by phone",["t","+49 1"]]],"links":[[0,1,[0],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:01.685929Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:10.752435Z','2026-11-30T17:12:01.685929Z',NULL,NULL,NULL,NULL,NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-ZWT2S0','c8005c8f81e4564a0d5105828a02754bfad90e2457c46cc11fe28fae37d22bcf','persons','duplicates','customers','open',3,1,'[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','{"change":"new","judged":[["@by phone",["t","+49 5"]],["@by name",["t","Cy Doe"]]],"links":[[0,1,[0,1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:01.685929Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:10.752435Z','2026-11-30T17:12:01.685929Z',NULL,NULL,NULL,NULL,NULL,NULL,0.0);
INSERT INTO "findings" VALUES('F-34W2BT','fee42b732737579d256fc8949f537ed39d92ff1a01edc2197e881558b1ce26ae','paid','reconciliation','orders','resolved',3,1,'[["id",["t","E"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","E"]],["@form",["t","right_only"]],["@at risk EUR",["n","3.00"]]],"peaks":[["@at risk EUR","3.00"]],"reason":"its records no longer match","span":null,"summary":true}','{"EUR":"3.00"}',1,'run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:02.807949Z','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:02.807949Z','2026-11-30T17:12:11.667179Z',NULL,NULL,NULL,NULL,NULL,NULL,-3.0);
INSERT INTO "findings" VALUES('F-C2X038','cde5ffef6644b8d5fcdc4893c022ea7c19026f894f92051f9cbfb9ce974c9784','paid','reconciliation','orders','open',3,1,'[["id",["t","B"]]]','{"change":"new","datasets":["orders","charges"],"differing":[["total / amount",["n","20.00"],["n","21.50"],"total","amount"]],"form":"mismatch","form_reason":null,"judged":[["id",["t","B"]],["@form",["t","mismatch"]],["@at risk EUR",["n","1.50"]],["@left total",["n","20.00"]],["@right amount",["n","21.50"]]],"peaks":[["@at risk EUR","1.50"],["total / amount","1.50"]],"reason":null,"span":null,"summary":true}','{"EUR":"-1.50"}',2,'run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:02.807949Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:11.667179Z','2026-11-30T17:12:02.807949Z',NULL,NULL,NULL,NULL,NULL,NULL,-1.5);
INSERT INTO "findings" VALUES('F-V9W2TR','6cf4c4403c4ad7c3c91ec17679af2587450d5b6e598cbcd95410d74d2cda5a74','paid','reconciliation','orders','open',3,1,'[["id",["t","D"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","D"]],["@form",["t","right_only"]],["@at risk EUR",["n","7.00"]]],"peaks":[["@at risk EUR","7.00"]],"reason":null,"span":null,"summary":true}','{"EUR":"-7.00"}',1,'run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:02.807949Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:11.667179Z','2026-11-30T17:12:02.807949Z',NULL,NULL,NULL,NULL,NULL,NULL,-7.0);
INSERT INTO "findings" VALUES('F-WBGQ3B','e6be0250e6a167f7c8a4b4ad09ab4b19c14f2a447611e58d190d68d7865d86e6','paid','reconciliation','orders','handled',3,1,'[["id",["t","C"]]]','{"change":"new","datasets":["orders","charges"],"decided":"handled","decided_money":{"EUR":"30.00"},"differing":[],"form":"left_only","form_reason":null,"judged":[["id",["t","C"]],["@form",["t","left_only"]],["@at risk EUR",["n","30.00"]]],"peaks":[["@at risk EUR","30.00"]],"reason":null,"settled_key":[["id",["t","C"]],["@form",["t","left_only"]],["@at risk EUR",["n","30.00"]]],"span":null,"summary":true}','{"EUR":"30.00"}',1,'run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:02.807949Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:11.667179Z','2026-11-30T17:12:08.859143Z',NULL,NULL,'root','refunded',NULL,NULL,-30.0);
INSERT INTO "findings" VALUES('F-CHM8N6','8844f17012983db39e6a72a011555afe8ffcb90c228e74e2b97c86edbbea3889','negative','check','charges','resolved',3,1,'[["id",["t","c4"]],["amount",["n","-3.00"]]]','{"change":"new","form":"condition","judged":[["id",["t","c4"]],["amount",["n","-3.00"]]],"peaks":[["@at risk EUR","3.00"]],"reason":"its records no longer match","span":null,"summary":true}','{"EUR":"-3.00"}',1,'run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:03.095279Z','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:03.095279Z','2026-11-30T17:12:11.974487Z',NULL,NULL,NULL,NULL,NULL,NULL,-3.0);
INSERT INTO "findings" VALUES('F-ZD3SX1','d690e314d68d87444246c277eccbe914cee2dd0ae0822749439057d1fa36cd43','paid','reconciliation','orders','open',3,1,'[["id",["t","F"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","F"]],["@form",["t","right_only"]],["@at risk EUR",["n","99.00"]]],"peaks":[["@at risk EUR","99.00"]],"reason":null,"span":null,"summary":false}','{"EUR":"-99.00"}',1,'run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:11.667179Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:11.667179Z','2026-11-30T17:12:11.667179Z',NULL,NULL,NULL,NULL,NULL,NULL,-99.0);
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
INSERT INTO "leases" VALUES('job:nightly',NULL,2,'2026-11-30T17:12:13.066447Z','2026-11-30T17:12:09.995108Z');
INSERT INTO "leases" VALUES('compaction',NULL,0,'2026-12-01T17:12:04.308005Z','2026-11-30T17:12:04.308005Z');
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
INSERT INTO "limit_uses" VALUES('P-6WH4QZOUJWJS','twins','sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:03.847212Z',1,'{}');
INSERT INTO "limit_uses" VALUES('P-DS22E52LX6DB','twins','sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:03.847212Z',1,'{}');
INSERT INTO "limit_uses" VALUES('P-VIZHK3ZHVRYU','twins','sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:12.730542Z',1,'{}');
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
INSERT INTO "limits" VALUES('target:sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db',NULL,NULL,'2026-11-30T17:12:12.730542Z',3,'{}','run1_kgkpioz57ykaecwk3thzk7br4e',1,'{}');
INSERT INTO "limits" VALUES('rule:twins',NULL,NULL,'2026-11-30T17:12:12.730542Z',3,'{}','run1_kgkpioz57ykaecwk3thzk7br4e',1,'{}');
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
INSERT INTO "meta" VALUES(1,'st_ef7d5c238348b1d58565a73d0870bfbe',1,'0019','66b3f61d28b63e1a9645ac9173caddf6cd2cd155f120361c7409879d50f89376','2026-11-30T17:11:59.789063Z');
CREATE TABLE not_same (
	rule TEXT NOT NULL, 
	record_a TEXT NOT NULL, 
	record_b TEXT NOT NULL, 
	values_a TEXT NOT NULL, 
	values_b TEXT NOT NULL, 
	finding TEXT NOT NULL, 
	decided_by TEXT NOT NULL, 
	decided_at TEXT NOT NULL, 
	note TEXT, 
	decision TEXT, 
	CONSTRAINT pk_not_same PRIMARY KEY (rule, record_a, record_b), 
	CONSTRAINT ck_not_same_ordered CHECK (record_a < record_b), 
	CONSTRAINT fk_not_same_finding FOREIGN KEY(finding) REFERENCES findings (id)
);
INSERT INTO "not_same" VALUES('twins','[["n","1"]]','[["n","2"]]','[["email",["t","ada@example.com"]]]','[["email",["t","ada@example.com"]]]','F-0JEJ56','reconcile','2026-11-30T17:12:08.098350Z',NULL,NULL);
INSERT INTO "not_same" VALUES('twins','[["n","5"]]','[["n","6"]]','[["email",["t","cy@example.com"]]]','[["email",["t","cy@example.com"]]]','F-1T2G2E','root','2026-11-30T17:12:08.320995Z','two people',NULL);
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
INSERT INTO "notified" VALUES('F-WBGQ3B','team',1,'msg1_3053c0038afedeb8765565b2','2026-11-30T17:12:04.065781Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-V9W2TR','team',1,'msg1_3053c0038afedeb8765565b2','2026-11-30T17:12:04.065781Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-34W2BT','team',1,'msg1_3053c0038afedeb8765565b2','2026-11-30T17:12:04.065781Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-CHM8N6','team',1,'msg1_3053c0038afedeb8765565b2','2026-11-30T17:12:04.065781Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-C2X038','team',1,'msg1_3053c0038afedeb8765565b2','2026-11-30T17:12:04.065781Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-GGZ193','team',1,'msg1_3053c0038afedeb8765565b2','2026-11-30T17:12:04.065781Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-SMSWQM','team',1,'msg1_3053c0038afedeb8765565b2','2026-11-30T17:12:04.065781Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-ZJPPRJ','team',1,'msg1_3053c0038afedeb8765565b2','2026-11-30T17:12:04.065781Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-ZWT2S0','team',1,'msg1_3053c0038afedeb8765565b2','2026-11-30T17:12:04.065781Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-0JEJ56','team',2,'msg1_3053c0038afedeb8765565b2','2026-11-30T17:12:04.065781Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-1T2G2E','team',2,'msg1_3053c0038afedeb8765565b2','2026-11-30T17:12:04.065781Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-4HSZCJ','team',2,'msg1_3053c0038afedeb8765565b2','2026-11-30T17:12:04.065781Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-NMPCW9','team',3,'msg1_3053c0038afedeb8765565b2','2026-11-30T17:12:04.065781Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-ZD3SX1','team',1,'msg1_17e6241d041f8bff14d3cf2c','2026-11-30T17:12:12.913733Z',NULL,NULL,NULL);
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
INSERT INTO "outbox" VALUES('msg1_3053c0038afedeb8765565b2','team','nightly','run1_lhgagabfthlwxvz26m5tt64egm','{"id":"msg1_3053c0038afedeb8765565b2","job":"nightly","run":"run1_lhgagabfthlwxvz26m5tt64egm","slot":"2026-11-30T17:11:57.363418Z","rules":[{"rule":"twins","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":4,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"persons","severity":"medium","dataset":"customers","new":4,"grown":0,"reopened":0,"known":0,"resolved":0,"records":4,"money":{},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-GGZ193","state":"new","key":{"name":"Bob Roe"},"keeper":"3","surplus":["4"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-SMSWQM","state":"new","key":{"name":"Di Poe"},"keeper":"7","surplus":["8"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-ZJPPRJ","state":"new","key":{"phone":"+49 1"},"keeper":"1","surplus":["2"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-ZWT2S0","state":"new","key":{"phone":"+49 5","name":"Cy Doe"},"keeper":"5","surplus":["6"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"paid","severity":"medium","dataset":"orders","new":4,"grown":0,"reopened":0,"known":0,"resolved":0,"records":0,"money":{"EUR":"41.50"},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-WBGQ3B","state":"new","key":{"id":"C"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"30.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"left_only","in_words":"missing in charges","left":["orders C"],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-V9W2TR","state":"new","key":{"id":"D"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"7.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c3"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-34W2BT","state":"new","key":{"id":"E"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"3.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c4"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-C2X038","state":"new","key":{"id":"B"},"keeper":"","surplus":[],"records":2,"money":{"EUR":"1.50"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"mismatch","in_words":"values differ","left":["orders B"],"right":["charges c2"],"differences":[{"column":"total / amount","left":"20.00","right":"21.50","apart":"by 1.50"}],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"reconciliation","datasets":["orders","charges"],"nouns":["discrepancy","discrepancies"],"forms":{"left_only":1,"mismatch":1,"right_only":2},"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"balance":[{"currency":"EUR","left":"60.00","right":"35.50","matched":"0.00","explained":"24.50","not_yet_due":"0","by_form":{"missing in charges":"30.00","missing in orders":"-4.00","values differ":"-1.50"},"not_reported":"0"}],"undecided":0,"first_message":false},{"rule":"negative","severity":"medium","dataset":"charges","new":1,"grown":0,"reopened":0,"known":0,"resolved":0,"records":0,"money":{"EUR":"3.00"},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-CHM8N6","state":"new","key":{"id":"c4","amount":"-3.00"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"3.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"condition","in_words":"amount is less than 0","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":"c4"}],"skipped":[],"kind":"check","datasets":[],"nouns":["failing record","failing records"],"forms":{"condition":1},"in_words":["1 failing record"],"balance":[],"undecided":0,"first_message":false}],"failures":[],"link":null,"test":false,"since":null,"created":"2026-11-30T17:12:04.065781Z","timezone":"UTC","trouble":null,"cleaning":[{"rule":"twins","severity":"medium","dataset":"customers","awaiting":4,"quarantined":0,"failed":0,"cleaned":0,"stale":0,"waiting":0,"money":{},"stopped":null,"undo":null,"findings":[{"finding":"F-0JEJ56","state":"awaiting_approval","key":{"email":"ada@example.com"},"keeper":"1","surplus":["2"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"af91d8ad4ae82066ab9a24c620e83bdb94453ed2cf03fa58ce79e0ec40dea412","plan_does":"mark 1 record","plan_expires":"2026-12-07T17:12:03.847212Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-1T2G2E","state":"awaiting_approval","key":{"email":"cy@example.com"},"keeper":"5","surplus":["6"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"dc1c160617da6ea0a73fad6d1156639166a8a3e12a5e120aa9c9c0b6879c2d8c","plan_does":"mark 1 record","plan_expires":"2026-12-07T17:12:03.847212Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-4HSZCJ","state":"awaiting_approval","key":{"email":"bob@example.com"},"keeper":"3","surplus":["4"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"aeedb51fd0622a6caf97cef6e3667c8a531b1f8e1ad296392a84a02c56fabb00","plan_does":"mark 1 record","plan_expires":"2026-12-07T17:12:03.847212Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-NMPCW9","state":"awaiting_approval","key":{"email":"di@example.com"},"keeper":"7","surplus":["8"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"c527ef155f88c1503f080e738c8fcb80e22a41fbf7e9a62c99524f2c08bed58f","plan_does":"mark 1 record","plan_expires":"2026-12-07T17:12:03.847212Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"owner":null,"not_undone":0,"next_run":null,"runbook":null,"undone":0,"undos_waiting":0,"expired":0,"void":0,"withdrawn":0,"waits_for":null,"doubt":null,"plans":[]}],"project":null,"escalation":null,"fallback_of":null}',1,'sent',1,'2026-11-30T17:12:04.065781Z','2026-11-30T17:12:04.065781Z','2026-12-03T17:12:04.065781Z',1,NULL,'2026-11-30T17:17:04.223474Z',0,NULL,'{"details":{"notice":"msg1_3053c0038afedeb8765565b2"},"where":"file messages.jsonl"}','2026-11-30T17:12:04.253648Z',NULL,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES('msg1_17e6241d041f8bff14d3cf2c','team','nightly','run1_kgkpioz57ykaecwk3thzk7br4e','{"id":"msg1_17e6241d041f8bff14d3cf2c","job":"nightly","run":"run1_kgkpioz57ykaecwk3thzk7br4e","slot":"2026-11-30T17:12:09.974654Z","rules":[{"rule":"twins","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":1,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"persons","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":4,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"paid","severity":"medium","dataset":"orders","new":1,"grown":0,"reopened":0,"known":2,"resolved":1,"records":0,"money":{"EUR":"99.00"},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-ZD3SX1","state":"new","key":{"id":"F"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"99.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c5"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"reconciliation","datasets":["orders","charges"],"nouns":["discrepancy","discrepancies"],"forms":{"right_only":1},"in_words":["1 missing in orders"],"balance":[{"currency":"EUR","left":"60.00","right":"137.50","matched":"0.00","explained":"-77.50","not_yet_due":"0","by_form":{"missing in charges":"30.00","missing in orders":"-106.00","values differ":"-1.50"},"not_reported":"0"}],"undecided":0,"first_message":false},{"rule":"negative","severity":"medium","dataset":"charges","new":0,"grown":0,"reopened":0,"known":0,"resolved":1,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"check","datasets":[],"nouns":["failing record","failing records"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false}],"failures":[],"link":null,"test":false,"since":"2026-11-30T17:11:57.363418Z","created":"2026-11-30T17:12:12.913733Z","timezone":"UTC","trouble":null,"cleaning":[{"rule":"twins","severity":"medium","dataset":"customers","awaiting":0,"quarantined":0,"failed":0,"cleaned":2,"stale":0,"waiting":0,"money":{},"stopped":null,"undo":"reconcile undo F-4HSZCJ","findings":[],"owner":null,"not_undone":0,"next_run":null,"runbook":null,"undone":1,"undos_waiting":0,"expired":0,"void":0,"withdrawn":0,"waits_for":null,"doubt":null,"plans":[{"finding":"F-0JEJ56","what":"cleaned","does":"mark 1 record","why":null},{"finding":"F-4HSZCJ","what":"cleaned","does":"mark 1 record","why":null},{"finding":"F-0JEJ56","what":"undone","does":"","why":null}]}],"project":null,"escalation":null,"fallback_of":null}',1,'sent',1,'2026-11-30T17:12:12.913733Z','2026-11-30T17:12:12.913733Z','2026-12-03T17:12:12.913733Z',1,NULL,'2026-11-30T17:17:13.079383Z',0,NULL,'{"details":{"notice":"msg1_17e6241d041f8bff14d3cf2c"},"where":"file messages.jsonl"}','2026-11-30T17:12:13.134131Z',NULL,NULL,NULL,NULL);
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
INSERT INTO "plans" VALUES('P-DS22E52LX6DB','F-0JEJ56','twins','customers','shop','sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','set','run1_lhgagabfthlwxvz26m5tt64egm','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','af91d8ad4ae82066ab9a24c620e83bdb94453ed2cf03fa58ce79e0ec40dea412',NULL,'compensated',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","ada@example.com"],"id":["i","1"],"merged_into":null,"name":["t","Ada Byron"],"phone":["t","+49 1"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","1"]]],"table":"customers"}},{"after":{"merged_into":["i","1"],"status":["t","duplicate"]},"before":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":null,"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","2"]]],"table":"customers"}}],"dataset":"customers","finding":"F-0JEJ56","ignore_drift":[],"keeper":"[[\"n\",\"1\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"17b9d838f626279715c4bb2731e5675dbd0882e03773127b1d20f64ee4498a0f","generation":1,"record":"[[\"n\",\"2\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"41d285f3190288a718ce20d3e675c6f1","source":"shop","table":"customers","target":"sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db","triggers":[],"undoes":null,"why":[]}','[{"after":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":["i","1"],"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","duplicate"]}}]','{"approved_within":{"group":5,"money":{},"records":100,"share":"1","source_money":{},"source_records":100},"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-11-30T17:12:03.847212Z','2026-12-07T17:12:03.847212Z',1,NULL,'2026-11-30T17:13:06.664640Z',1,'2026-11-30T17:12:05.848890Z',NULL,NULL,'2026-11-30T17:12:06.664640Z','2026-11-30T17:12:06.760044Z');
INSERT INTO "plans" VALUES('P-5YJPQKZKT2EE','F-1T2G2E','twins','customers','shop','sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','set','run1_lhgagabfthlwxvz26m5tt64egm','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','dc1c160617da6ea0a73fad6d1156639166a8a3e12a5e120aa9c9c0b6879c2d8c',NULL,'skipped','dismissed by root','{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","cy@example.com"],"id":["i","5"],"merged_into":null,"name":["t","Cy Doe"],"phone":["t","+49 5"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","5"]]],"table":"customers"}},{"after":{"merged_into":["i","5"],"status":["t","duplicate"]},"before":{"email":["t","cy@example.com"],"id":["i","6"],"merged_into":null,"name":["t","Cy Doe"],"phone":["t","+49 5"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","6"]]],"table":"customers"}}],"dataset":"customers","finding":"F-1T2G2E","ignore_drift":[],"keeper":"[[\"n\",\"5\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"8aae9e0767dd844038486d46242ff5fadce09258ac9eb1daee91e77d6d72fef2","generation":1,"record":"[[\"n\",\"6\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"9a3c0f788ab15375cf4d99cf6faaa22f","source":"shop","table":"customers","target":"sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-11-30T17:12:03.847212Z','2026-12-07T17:12:03.847212Z',0,NULL,'2026-11-30T17:12:03.847212Z',0,'2026-11-30T17:12:03.847212Z',NULL,NULL,NULL,'2026-11-30T17:12:08.320995Z');
INSERT INTO "plans" VALUES('P-6WH4QZOUJWJS','F-4HSZCJ','twins','customers','shop','sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','set','run1_lhgagabfthlwxvz26m5tt64egm','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','aeedb51fd0622a6caf97cef6e3667c8a531b1f8e1ad296392a84a02c56fabb00',NULL,'succeeded',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","bob@example.com"],"id":["i","3"],"merged_into":null,"name":["t","Bob Roe"],"phone":["t","+49 3"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","3"]]],"table":"customers"}},{"after":{"merged_into":["i","3"],"status":["t","duplicate"]},"before":{"email":["t","BOB@example.com"],"id":["i","4"],"merged_into":null,"name":["t","Bob Roe"],"phone":["t","+49 4"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","4"]]],"table":"customers"}}],"dataset":"customers","finding":"F-4HSZCJ","ignore_drift":[],"keeper":"[[\"n\",\"3\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"a4ef222164f8c2b7c2484bb00e79e2db5b63b58d22ccd052c81e80877ba0418e","generation":1,"record":"[[\"n\",\"4\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"bd9190f0595f1bf658bfa933787b8f74","source":"shop","table":"customers","target":"sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db","triggers":[],"undoes":null,"why":[]}','[{"after":{"email":["t","BOB@example.com"],"id":["i","4"],"merged_into":["i","3"],"name":["t","Bob Roe"],"phone":["t","+49 4"],"status":["t","duplicate"]}}]','{"approved_within":{"group":5,"money":{},"records":100,"share":"1","source_money":{},"source_records":100},"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-11-30T17:12:03.847212Z','2026-12-07T17:12:03.847212Z',1,NULL,'2026-11-30T17:13:07.502483Z',1,'2026-11-30T17:12:06.821850Z',NULL,NULL,'2026-11-30T17:12:07.502483Z','2026-11-30T17:12:07.574333Z');
INSERT INTO "plans" VALUES('P-MYGTCN5XIR5Y','F-NMPCW9','twins','customers','shop','sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','set','run1_lhgagabfthlwxvz26m5tt64egm','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','c527ef155f88c1503f080e738c8fcb80e22a41fbf7e9a62c99524f2c08bed58f',NULL,'skipped','root chose another keeper','{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","di@example.com"],"id":["i","7"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 7"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","7"]]],"table":"customers"}},{"after":{"merged_into":["i","7"],"status":["t","duplicate"]},"before":{"email":["t","di@example.com"],"id":["i","8"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 8"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","8"]]],"table":"customers"}}],"dataset":"customers","finding":"F-NMPCW9","ignore_drift":[],"keeper":"[[\"n\",\"7\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"7395226012618acbf33e72bde0e214d97d83b9749a513e9f12431d0a57394f7d","generation":1,"record":"[[\"n\",\"8\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"343be3282017c25fff38ed1a978c6e2f","source":"shop","table":"customers","target":"sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-11-30T17:12:03.847212Z','2026-12-07T17:12:03.847212Z',0,NULL,'2026-11-30T17:12:03.847212Z',0,'2026-11-30T17:12:03.847212Z',NULL,NULL,NULL,'2026-11-30T17:12:05.513072Z');
INSERT INTO "plans" VALUES('P-VIZHK3ZHVRYU','F-NMPCW9','twins','customers','shop','sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','set',NULL,'d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','090216bcf5b1f786287cebb5846341ae46641123305feb336d9f3b4102afaab3',NULL,'awaiting_approval',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","di@example.com"],"id":["i","8"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 8"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","8"]]],"table":"customers"}},{"after":{"merged_into":["i","8"],"status":["t","duplicate"]},"before":{"email":["t","di@example.com"],"id":["i","7"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 7"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","7"]]],"table":"customers"}}],"dataset":"customers","finding":"F-NMPCW9","ignore_drift":[],"keeper":"[[\"n\",\"8\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"218343615dcb5d6ae08ef2992f33afa103e6b412a347faa1c993053e3d1b554d","generation":1,"record":"[[\"n\",\"7\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"343be3282017c25fff38ed1a978c6e2f","source":"shop","table":"customers","target":"sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-11-30T17:12:05.513072Z','2026-12-07T17:12:05.513072Z',0,NULL,'2026-11-30T17:12:05.513072Z',0,'2026-11-30T17:12:05.513072Z',NULL,NULL,NULL,NULL);
INSERT INTO "plans" VALUES('P-MU6MEOES3KXL','F-0JEJ56','twins','customers','shop','sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','undo',NULL,'d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','37c6a400c49d5eb80006583ff63495a1950cc25ad493aab82b54df6eab6b32b3','P-DS22E52LX6DB','succeeded',NULL,'{"action":"undo","binding":"","catalogue":"","changes":[{"after":{"merged_into":null,"status":["t","new"]},"before":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":["i","1"],"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","duplicate"]},"role":"surplus","row":{"key":[["id",["i","2"]]],"table":"customers"}}],"dataset":"customers","finding":"F-0JEJ56","ignore_drift":[],"keeper":"[[\"n\",\"1\"]]","money":{},"operations":[{"effect":"set:merged_into,status.undo","fingerprint":"cae6b2c1774f849fd50229698fcd6b375d72d0608b8156ecf689ac9913734d47","generation":1,"record":"[[\"n\",\"2\"]]"}],"origins":{},"references":[],"reversible":"no","rule":"twins","salt":"41d285f3190288a718ce20d3e675c6f1","source":"shop","table":"customers","target":"sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db","triggers":[],"undoes":"P-DS22E52LX6DB","why":["an undo cannot be undone; reopen the finding and clean it again"]}','[{"after":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":null,"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","new"]}}]','{"effects":["set:merged_into,status.undo"],"table":"customers"}',1,1,'{}','no','none','root','2026-11-30T17:12:07.772715Z',NULL,1,NULL,'2026-11-30T17:13:08.017881Z',1,'2026-11-30T17:12:07.772715Z',NULL,NULL,'2026-11-30T17:12:08.017881Z','2026-11-30T17:12:08.098350Z');
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
INSERT INTO "record_ids" VALUES('customers','["id"]','["integer"]','2026-11-30T17:12:00.635420Z');
INSERT INTO "record_ids" VALUES('charges','["id"]','["text"]','2026-11-30T17:12:02.777666Z');
INSERT INTO "record_ids" VALUES('orders','["id"]','["text"]','2026-11-30T17:12:02.777666Z');
CREATE TABLE releases (
	hash TEXT NOT NULL, 
	config TEXT NOT NULL, 
	first_seen TEXT NOT NULL, 
	files TEXT, 
	CONSTRAINT pk_releases PRIMARY KEY (hash)
);
INSERT INTO "releases" VALUES('d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','{"channels":{"team":{"path":"messages.jsonl","type":"file"}},"datasets":{"charges":{"id":"id","money":{"amount":"amount","currency":"EUR"},"source":"shop","table":"charges"},"customers":{"id":"id","source":"shop","table":"customers"},"orders":{"id":"id","money":{"amount":"total","currency":"EUR"},"source":"shop","table":"orders"}},"jobs":{"nightly":{"notify":["team"],"rules":"all"}},"rules":{"negative":{"dataset":"charges","kind":"check","where":"amount < 0"},"paid":{"compare":[{"left":"total","right":"amount"}],"key":[{"left":"id","right":"order_id"}],"kind":"reconciliation","left":"orders","right":"charges"},"persons":{"dataset":"customers","key":{"any":[["phone"],["name"]]},"kind":"duplicates","max_share":"100%"},"twins":{"clean":{"action":"set","values":{"merged_into":"{{ keeper.id }}","status":"duplicate"}},"dataset":"customers","keep":[{"first":"id"}],"key":[{"email":["trim","lower"]}],"kind":"duplicates","limits":{"records":"100","share":"100%"},"where":"status <> ''duplicate''"}},"sources":{"shop":{"type":"sql","url":"sqlite:///shop.db"}},"state":"sqlite:///state.db","version":"1"}','2026-11-30T17:11:59.832744Z','[["reconcile.yaml","version: 1\nstate: sqlite:///state.db\nsources:\n  shop:\n    type: sql\n    url: sqlite:///shop.db\ndatasets:\n  customers:\n    source: shop\n    table: customers\n    id: id\n  orders:\n    source: shop\n    table: orders\n    id: id\n    money:\n      amount: total\n      currency: EUR\n  charges:\n    source: shop\n    table: charges\n    id: id\n    money:\n      amount: amount\n      currency: EUR\nrules:\n  twins:\n    kind: duplicates\n    dataset: customers\n    key:\n      - email:\n          - trim\n          - lower\n    where: status <> ''duplicate''\n    keep:\n      - first: id\n    clean:\n      action: set\n      values:\n        status: duplicate\n        merged_into: \"{{ keeper.id }}\"\n    limits:\n      records: 100\n      share: 100%\n  persons:\n    kind: duplicates\n    dataset: customers\n    key:\n      any:\n        - - phone\n        - - name\n    max_share: 100%\n  paid:\n    kind: reconciliation\n    left: orders\n    right: charges\n    key:\n      - left: id\n        right: order_id\n    compare:\n      - left: total\n        right: amount\n  negative:\n    kind: check\n    dataset: charges\n    where: amount < 0\nchannels:\n  team:\n    type: file\n    path: messages.jsonl\njobs:\n  nightly:\n    rules: all\n    notify:\n      - team\n"]]');
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
INSERT INTO "rule_state" VALUES('twins','ba93d1775e063ab3c4bc4a413cc33aa72a6da7aab57eecbfb47647751ad3b112','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:00.661854Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:10.515184Z',NULL,'698c62c9496f10f693324f47bd2fa80994e23ac2793f7a7f1fc1643f4a17b0be');
INSERT INTO "rule_state" VALUES('persons','6697642266c1d209d134050e2dadb193f1f833d07b57586db5fa61b233f7f150','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:01.685929Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:10.752435Z',NULL,NULL);
INSERT INTO "rule_state" VALUES('paid','e010e09295850fb3a848b5a34c9e6cbdc595377a1e8f59793400c4e67934fd2b','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:02.807949Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:11.667179Z',NULL,NULL);
INSERT INTO "rule_state" VALUES('negative','d187f92eafe0ac7cbd360ecd7e021c40e3a128d982fc360e28207b4a51d8fa2b','run1_lhgagabfthlwxvz26m5tt64egm','2026-11-30T17:12:03.095279Z','run1_kgkpioz57ykaecwk3thzk7br4e','2026-11-30T17:12:11.974487Z',NULL,NULL);
CREATE TABLE run_rules (
	run TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	status TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	finished TEXT NOT NULL, 
	CONSTRAINT pk_run_rules PRIMARY KEY (run, rule), 
	CONSTRAINT fk_run_rules_run FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "run_rules" VALUES('run1_lhgagabfthlwxvz26m5tt64egm','twins','done','{"cleaning":{"binding":"698c62c9496f10f693324f47bd2fa80994e23ac2793f7a7f1fc1643f4a17b0be","cleaned":0,"failed":0,"proposed":4,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":8,"seconds":0.707,"severity":"medium","skipped":[]}','2026-11-30T17:12:04.047336Z');
INSERT INTO "run_rules" VALUES('run1_lhgagabfthlwxvz26m5tt64egm','persons','done','{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.874,"severity":"medium","skipped":[]}','2026-11-30T17:12:01.685929Z');
INSERT INTO "run_rules" VALUES('run1_lhgagabfthlwxvz26m5tt64egm','paid','done','{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-4.00"},"currency":"EUR","explained":"24.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"35.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"left_only":1,"mismatch":1,"right_only":2},"groups":4,"groups_before":[],"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"matched":2,"money":{"EUR":"41.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":1.026,"severity":"medium","skipped":[]}','2026-11-30T17:12:02.807949Z');
INSERT INTO "run_rules" VALUES('run1_lhgagabfthlwxvz26m5tt64egm','negative','done','{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":1,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"condition":1},"groups":1,"groups_before":[],"in_words":["1 failing record"],"money":{"EUR":"3.00"},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.243,"severity":"medium","skipped":[]}','2026-11-30T17:12:03.095279Z');
INSERT INTO "run_rules" VALUES('run1_kgkpioz57ykaecwk3thzk7br4e','twins','done','{"cleaning":{"binding":"698c62c9496f10f693324f47bd2fa80994e23ac2793f7a7f1fc1643f4a17b0be","cleaned":0,"failed":0,"proposed":0,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":1,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":2},"first_run":false,"groups":3,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":7,"seconds":0.414,"severity":"medium","skipped":[]}','2026-11-30T17:12:12.901635Z');
INSERT INTO "run_rules" VALUES('run1_kgkpioz57ykaecwk3thzk7br4e','persons','done','{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":4,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":0},"first_run":false,"groups":4,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.104,"severity":"medium","skipped":[]}','2026-11-30T17:12:10.752435Z');
INSERT INTO "run_rules" VALUES('run1_kgkpioz57ykaecwk3thzk7br4e','paid','done','{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-106.00"},"currency":"EUR","explained":"-77.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"137.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":2,"merged":0,"new":1,"reopened":0,"resolved":1,"settled":1},"first_run":false,"forms":{"mismatch":1,"right_only":2},"groups":4,"groups_before":[4],"in_words":["2 missing in orders","1 mismatch"],"matched":2,"money":{"EUR":"107.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.839,"severity":"medium","skipped":[]}','2026-11-30T17:12:11.667179Z');
INSERT INTO "run_rules" VALUES('run1_kgkpioz57ykaecwk3thzk7br4e','negative','done','{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":0,"reopened":0,"resolved":1,"settled":0},"first_run":false,"groups":0,"groups_before":[1],"money":{},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.204,"severity":"medium","skipped":[]}','2026-11-30T17:12:11.974487Z');
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
INSERT INTO "runs" VALUES('run1_lhgagabfthlwxvz26m5tt64egm','nightly','2026-11-30T17:11:57.363418Z','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','manual','succeeded',1,1,'2026-11-30T17:11:59.832744Z','2026-11-30T17:12:04.065781Z','{"attempt":1,"checked":["twins","persons","paid","negative"],"job":"nightly","messages":["msg1_3053c0038afedeb8765565b2"],"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":[{"cleaning":{"binding":"698c62c9496f10f693324f47bd2fa80994e23ac2793f7a7f1fc1643f4a17b0be","cleaned":0,"failed":0,"proposed":4,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":8,"seconds":0.707,"severity":"medium","skipped":[]},{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.874,"severity":"medium","skipped":[]},{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-4.00"},"currency":"EUR","explained":"24.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"35.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"left_only":1,"mismatch":1,"right_only":2},"groups":4,"groups_before":[],"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"matched":2,"money":{"EUR":"41.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":1.026,"severity":"medium","skipped":[]},{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":1,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"condition":1},"groups":1,"groups_before":[],"in_words":["1 failing record"],"money":{"EUR":"3.00"},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.243,"severity":"medium","skipped":[]}],"run":"run1_lhgagabfthlwxvz26m5tt64egm","slot":"2026-11-30T17:11:57.363418Z","status":"succeeded"}');
INSERT INTO "runs" VALUES('run1_kgkpioz57ykaecwk3thzk7br4e','nightly','2026-11-30T17:12:09.974654Z','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','manual','succeeded',1,2,'2026-11-30T17:12:10.027110Z','2026-11-30T17:12:12.913733Z','{"attempt":1,"checked":["twins","persons","paid","negative"],"job":"nightly","messages":["msg1_17e6241d041f8bff14d3cf2c"],"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":[{"cleaning":{"binding":"698c62c9496f10f693324f47bd2fa80994e23ac2793f7a7f1fc1643f4a17b0be","cleaned":0,"failed":0,"proposed":0,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":1,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":2},"first_run":false,"groups":3,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":7,"seconds":0.414,"severity":"medium","skipped":[]},{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":4,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":0},"first_run":false,"groups":4,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.104,"severity":"medium","skipped":[]},{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-106.00"},"currency":"EUR","explained":"-77.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"137.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":2,"merged":0,"new":1,"reopened":0,"resolved":1,"settled":1},"first_run":false,"forms":{"mismatch":1,"right_only":2},"groups":4,"groups_before":[4],"in_words":["2 missing in orders","1 mismatch"],"matched":2,"money":{"EUR":"107.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":0.839,"severity":"medium","skipped":[]},{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":0,"reopened":0,"resolved":1,"settled":0},"first_run":false,"groups":0,"groups_before":[1],"money":{},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.204,"severity":"medium","skipped":[]}],"run":"run1_kgkpioz57ykaecwk3thzk7br4e","slot":"2026-11-30T17:12:09.974654Z","status":"succeeded"}');
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
INSERT INTO "targets" VALUES('sqlite:65024:2293795:/tmp/tmpmx_4udhm/shop.db','shop',3,3,'2026-11-30T17:12:06.058758Z','2026-11-30T17:12:07.917187Z');
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
INSERT INTO "users" VALUES('ada','operator','$argon2id$v=19$m=65536,t=3,p=4$4z7lx4fV8MjmPHuHMJd4iA$Aiyi1XB4pdblzg3vXwa/O93A+esKWU0PF56cuOdwv0o',0,NULL,'2026-11-30T17:12:09.047255Z');
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
CREATE INDEX ix_presses_received_at ON presses (received_at);
CREATE INDEX ix_presses_status_next_at ON presses (status, next_at);
CREATE INDEX ix_keyed_requests_received_at ON keyed_requests (received_at);
CREATE INDEX ix_audit_subject ON audit (subject);
CREATE INDEX ix_attempts_since ON attempts (since);
CREATE INDEX ix_runs_job_started ON runs (job, started);
CREATE INDEX ix_runs_job_status_fence ON runs (job, status, fence);
CREATE INDEX ix_runs_started ON runs (started);
CREATE INDEX ix_audit_bodies_run ON audit_bodies (run);
CREATE INDEX ix_audit_bodies_finding ON audit_bodies (finding);
CREATE INDEX ix_tokens_user ON tokens (user);
CREATE INDEX ix_sessions_user ON sessions (user);
CREATE INDEX ix_sessions_ends_at ON sessions (ends_at);
CREATE INDEX ix_dataset_stats_dataset_rule_at ON dataset_stats (dataset, rule, at);
CREATE INDEX ix_findings_rule_state_severity_amount_rank_first_seen_id ON findings (rule, state, severity, amount_rank, first_seen, id);
CREATE INDEX ix_findings_assigned_to ON findings (assigned_to);
CREATE INDEX ix_findings_fingerprint ON findings (fingerprint);
CREATE INDEX ix_findings_state_severity_amount_rank_first_seen_id ON findings (state, severity, amount_rank, first_seen, id);
CREATE INDEX ix_anchors_status_next_at ON anchors (status, next_at);
CREATE INDEX ix_outbox_run ON outbox (run);
CREATE INDEX ix_outbox_status_next_at ON outbox (status, next_at);
CREATE INDEX ix_finding_aliases_finding ON finding_aliases (finding);
CREATE INDEX ix_finding_members_record ON finding_members (record);
CREATE INDEX ix_not_same_finding ON not_same (finding);
CREATE INDEX ix_not_same_rule_record_b ON not_same (rule, record_b);
CREATE INDEX ix_plans_rule_state ON plans (rule, state);
CREATE INDEX ix_plans_finding ON plans (finding);
CREATE INDEX ix_plans_run ON plans (run);
CREATE INDEX ix_plans_state_source_next_at_id ON plans (state, source, next_at, id);
CREATE INDEX ix_plans_undoes ON plans (undoes);
CREATE INDEX ix_shown_findings_finding ON shown_findings (finding);
CREATE INDEX ix_effects_record_target_effect ON effects (record, target, effect);
CREATE INDEX ix_effects_ended_at ON effects (ended_at);
CREATE INDEX ix_effects_plan ON effects ("plan");
CREATE INDEX ix_holds_plan ON holds ("plan");
CREATE INDEX ix_approvals_plan_hash ON approvals (plan_hash);
CREATE INDEX ix_limit_uses_target_at ON limit_uses (target, at);
CREATE INDEX ix_limit_uses_rule_at ON limit_uses (rule, at);
CREATE INDEX ix_limit_uses_run_rule ON limit_uses (run, rule);
COMMIT;
