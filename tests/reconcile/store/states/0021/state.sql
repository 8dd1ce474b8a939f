PRAGMA application_id = 1380142668;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0021');
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
INSERT INTO "approvals" VALUES('P-ERNAG2KWM76J','root','approved','a45dd1e2f0ea692535a797a044ea10cda6b62f140466b366784da10657ccccea','2026-12-01T10:17:13.907222Z',NULL);
INSERT INTO "approvals" VALUES('P-4AS5AGWJXQAB','root','approved','7d6757978ef2ba8fbcee6d9b0d3aed71f84ed4555a58142913b77c3393ebac4f','2026-12-01T10:17:15.914212Z',NULL);
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
INSERT INTO "audit" VALUES(1,'2026-12-01T10:17:03.223589Z','reconcile','finding.opened','a34c93d8eac610e2b9c35a9d70baebd4b1279271b664db0ca4badfd6f1e93136','f3f8b2f267f6823fb2b7143f9b770ee8e548973db2ef0da2d5bb1692b6650e4f','eb18f9c35c77f242dcfd1307ae57d52db680e6c6105f542acb38b5d382f3e07f','921f7d433e1e453f29d1f3c93072b1f1914c7dccfef0fb438e8861e756078839');
INSERT INTO "audit" VALUES(2,'2026-12-01T10:17:03.223589Z','reconcile','finding.opened','127465949a246d120175fa1ad441c35eac0eb403102e84e2ec3370d5855cd928','175d53327af565b9bb935e9569d0a15108c5f5360c89349256a810e6cb232292','921f7d433e1e453f29d1f3c93072b1f1914c7dccfef0fb438e8861e756078839','3ea44aca9aa9671e69771fc1c35e01bdae195cb8c6524c219c800eab726e6ef1');
INSERT INTO "audit" VALUES(3,'2026-12-01T10:17:03.223589Z','reconcile','finding.opened','b34fb16626c61eca559b3e4a11675825768a209ac571401fa5d1e14b47590626','d847d144e43bd7fd9e0f2edb4495fbf9feb674a5dd2bc165a741c03fa6518d04','3ea44aca9aa9671e69771fc1c35e01bdae195cb8c6524c219c800eab726e6ef1','900061feafd6101664ac1adc3c5bc0d6cca58e88f59430ef26dcd8dabafbc5ab');
INSERT INTO "audit" VALUES(4,'2026-12-01T10:17:03.223589Z','reconcile','finding.opened','4754440888c59f261d1af083b23d57111da88c79e251f15f0d4b033040e9154c','7b7fd1d30f5102f6ac1255803e217aec1871e008e6e7fb06643f9dca5e4b8b38','900061feafd6101664ac1adc3c5bc0d6cca58e88f59430ef26dcd8dabafbc5ab','b80fdcef32da447b1575a8347998873141c4dd7d3ca61f03af8e81755a95ad02');
INSERT INTO "audit" VALUES(5,'2026-12-01T10:17:04.744123Z','reconcile','finding.opened','85ebebc2b2d1f8ba6abb575aec0d8b23708a649b3783497e37a9133011c9258c','cc66e81da7cb353eee7d50e6073b1a21402d8296d742a14a27bffdf785d7342f','b80fdcef32da447b1575a8347998873141c4dd7d3ca61f03af8e81755a95ad02','d407e8635e3492a97f5b76ec386ff46ca3105a4fce48386d93eacb5de60eed63');
INSERT INTO "audit" VALUES(6,'2026-12-01T10:17:04.744123Z','reconcile','finding.opened','8261698c1aad807a4853ea31572894ff04349c607790c0bb548938009c6bbeb3','424d11e40293feaf84c3b93ddb9eb840d9122cbe903094e1e7ffc320626ada2f','d407e8635e3492a97f5b76ec386ff46ca3105a4fce48386d93eacb5de60eed63','85c84095362094fe4c45190ffd59a13cb80956e9988e4a4d700a266879d54991');
INSERT INTO "audit" VALUES(7,'2026-12-01T10:17:04.744123Z','reconcile','finding.opened','dfd40dc5c4d94f6587254b3172f3582b7f805559b6ae80e052ff01515ae7851c','9ccf152ade55ba6eedb8ddaf386e39b235391180e9f3c2f1205aeb420c465f1d','85c84095362094fe4c45190ffd59a13cb80956e9988e4a4d700a266879d54991','5d01c0d091b7c86440d3d2f0de35bbab46971ee61985e3900ea590420327f333');
INSERT INTO "audit" VALUES(8,'2026-12-01T10:17:04.744123Z','reconcile','finding.opened','07f335eab7e4a8e5e9b35131c519f960751088db6899c1641bfc39ebd702fd6d','3acedd1963363fdd81485b697f57bdbb9c01d66326acba9c1cac9a28f849fc9a','5d01c0d091b7c86440d3d2f0de35bbab46971ee61985e3900ea590420327f333','baba084a5ee5566bdadd58bd16913e31b630f656865a38ca397e4dbe708cfddf');
INSERT INTO "audit" VALUES(9,'2026-12-01T10:17:07.024107Z','reconcile','finding.opened','65356f7196c4b6c08edcbbe9a9979f37efc091222d8a2455df81ac887062909c','2ab019a6844d146c30de3a657e5b3143a453f839e9ced12eb8bde9a5f79a5adf','baba084a5ee5566bdadd58bd16913e31b630f656865a38ca397e4dbe708cfddf','42cecd063c0f4e180ec1a8b30b98be299d058cb76d945e76cd02b16a7d4f4035');
INSERT INTO "audit" VALUES(10,'2026-12-01T10:17:07.024107Z','reconcile','finding.opened','2cac93618ba198297df9e8c35ffaef419e18c9fd87f60c765bc7b968b865df6b','e6ea14b548773054ec56c33e9c40da458781d489cf900df3ce271651de6d6e75','42cecd063c0f4e180ec1a8b30b98be299d058cb76d945e76cd02b16a7d4f4035','6cb32746d157d0ebd0e1c89b631afbce1a4bdfc4ceacbefd0c08cd702f247afa');
INSERT INTO "audit" VALUES(11,'2026-12-01T10:17:07.024107Z','reconcile','finding.opened','bf191901c3293cf27cdb656c0f114d03c837d8b0cbe20fed31997cb621fe6171','c35540fbb34f258f19450ca0cff230eb352e7d67c5ebae0e6c0aae5e0951601b','6cb32746d157d0ebd0e1c89b631afbce1a4bdfc4ceacbefd0c08cd702f247afa','950371fbf674dd470a6fe39cb966ef68a3d3abce2aed192daa98fa385e355c14');
INSERT INTO "audit" VALUES(12,'2026-12-01T10:17:07.024107Z','reconcile','finding.opened','74163895b3553405017dc1295777128dd9882468ea4650c9abbc884b3fef3420','59d0f8f718eaaaf257c5eaef773dce0937ab1928e8b0473ebae68d072cfafb21','950371fbf674dd470a6fe39cb966ef68a3d3abce2aed192daa98fa385e355c14','df37dfe5545735014e951c3d4917c5015645d14f7d118eaa0337af1b2accf2a8');
INSERT INTO "audit" VALUES(13,'2026-12-01T10:17:07.603609Z','reconcile','finding.opened','7ecf09437fe73e4706abc4c3934407d4935abac861ae90a67505796f4cf9a8af','ac5b911ef1fac90338794696595447f0353af4bbe969f4adae06461acb6007f2','df37dfe5545735014e951c3d4917c5015645d14f7d118eaa0337af1b2accf2a8','21285c6c20bd6d112b05fda825b0dabd763c965fea2fa5fb0daf71cbdd362ec9');
INSERT INTO "audit" VALUES(14,'2026-12-01T10:17:09.744889Z','reconcile','plan.proposed','15b6dcea1c2c6435f474ffe963e38bffee85bf4b80c5ad6e560f7114a76baed1','7d4f642657a9e8fcb96864891b96b3ddae1c929d6b725cc3c594983ec0a85913','21285c6c20bd6d112b05fda825b0dabd763c965fea2fa5fb0daf71cbdd362ec9','f9c76f046134acede636abd9539c1e89c808f90a38d2a75fd0affbb4fdfe3410');
INSERT INTO "audit" VALUES(15,'2026-12-01T10:17:09.744889Z','reconcile','plan.proposed','7e530d7c7ba96d73c232eb049bb4f7c3aff2cb90913283e76c752077eeea4fcb','2851ad9efc18bbd9d76639bf4484ac77d54ea6839233073177eaaf346ed5f89b','f9c76f046134acede636abd9539c1e89c808f90a38d2a75fd0affbb4fdfe3410','953dbc154a61395a369709fc2776b11fb001c482755cde43070f20f6a1508e3a');
INSERT INTO "audit" VALUES(16,'2026-12-01T10:17:09.744889Z','reconcile','plan.proposed','84562c19cc601efa60d4ce6083d0b0fe30f979e1b99a2619dd183fb7bdec69ba','f509ce324c0136eb43fa455a1c4508e83cc488353e14fb040e79317f29c627b4','953dbc154a61395a369709fc2776b11fb001c482755cde43070f20f6a1508e3a','75f3066d39b6c8e585a8bba01435f071cca604c24992b19ad98b0c74b21972b9');
INSERT INTO "audit" VALUES(17,'2026-12-01T10:17:09.744889Z','reconcile','plan.proposed','9951c1939e116c092dfa5dfefb8ef0b8a3316582743a8c424aeaf4c0a6bb9373','34a7268195adf60667a93164c14a746b2fdde68c92e127c6544f1fb44f75b517','75f3066d39b6c8e585a8bba01435f071cca604c24992b19ad98b0c74b21972b9','8d5c84e2f2c8fc2564f32158b10e6303331ef397a426c4fc2bf8ee0854b555cc');
INSERT INTO "audit" VALUES(18,'2026-12-01T10:17:10.218316Z','reconcile','message.queued','aec3790fed9a932552f82523e763f649bcfdf090e9a4a7c3d91f845c377bf46f','cb046657f1455bf4d5706a5b0aa790e024b1cce040d47bf16fcea9bee3e9f127','8d5c84e2f2c8fc2564f32158b10e6303331ef397a426c4fc2bf8ee0854b555cc','8b391f0359e293588e21d98869459f983b0c464a920045df3005e96b0857a075');
INSERT INTO "audit" VALUES(19,'2026-12-01T10:17:10.218316Z','reconcile','run.finished','1d43380b34a3fd06f43d8741a4c74aeba2e35daaedc03198356edbf4aa3a9b79','bb03d999b8a2c4fa7032504e7b5e1cfb1c053a5cee24888b01fb6ac4cd862574','8b391f0359e293588e21d98869459f983b0c464a920045df3005e96b0857a075','b50360067788ee3e3dbb43ef9a9a1066b5b658a719ce3cf8ae02960e310c4e0f');
INSERT INTO "audit" VALUES(20,'2026-12-01T10:17:10.534609Z','reconcile','message.sending','aec3790fed9a932552f82523e763f649bcfdf090e9a4a7c3d91f845c377bf46f','9de88317fe2095347cef99091b85817a6fbb79c48d88d5d88cc3bd81bd12c275','b50360067788ee3e3dbb43ef9a9a1066b5b658a719ce3cf8ae02960e310c4e0f','a4741378fa849fc8a45762550b4995fb2cbd1e7d5b1446f54e523b1bc400f4eb');
INSERT INTO "audit" VALUES(21,'2026-12-01T10:17:10.586617Z','reconcile','message.sent','aec3790fed9a932552f82523e763f649bcfdf090e9a4a7c3d91f845c377bf46f','39e6e4f0b7c068ef9c9898785db6f9d2a57a63bba1355703c13a85249ed491c4','a4741378fa849fc8a45762550b4995fb2cbd1e7d5b1446f54e523b1bc400f4eb','8ad7a0b57c64a716e20ce62a20c99e4fb8f86e9073eb62495a2e799ddf96ded9');
INSERT INTO "audit" VALUES(22,'2026-12-01T10:17:13.240326Z','root','finding.keeper_chosen','4754440888c59f261d1af083b23d57111da88c79e251f15f0d4b033040e9154c','6759053d6a7e5e6ba7d613c2bcfa6fc7cfaaf4d540f7f89821dff0dc1508b07b','8ad7a0b57c64a716e20ce62a20c99e4fb8f86e9073eb62495a2e799ddf96ded9','e8948e65e5ebab61652089c41aebd2b370850689ae8c4ab59c7fab21810c6e38');
INSERT INTO "audit" VALUES(23,'2026-12-01T10:17:13.240326Z','root','plan.skipped','9951c1939e116c092dfa5dfefb8ef0b8a3316582743a8c424aeaf4c0a6bb9373','6bde8b625062718b84105ec6dcc0f5678d7c3a0c33e2ef3c4e45d356d87eec50','e8948e65e5ebab61652089c41aebd2b370850689ae8c4ab59c7fab21810c6e38','80cd5832a850838d92215da276b110d7da213090b197085b402eabc4f086616c');
INSERT INTO "audit" VALUES(24,'2026-12-01T10:17:13.240326Z','reconcile','plan.proposed','f598569b2a6b93182ac28122fc89732bf589c56415ae63fa352ab5b999b66b5a','6ed1186405042da47dd0d84e16463a6446b1d11eebd5a491afc01beb0f459f6f','80cd5832a850838d92215da276b110d7da213090b197085b402eabc4f086616c','cb20340ffcf3671a308effc6657c0b2072703ead237bf13dc43abc6cbdef98fc');
INSERT INTO "audit" VALUES(25,'2026-12-01T10:17:13.907222Z','root','approval.approved','15b6dcea1c2c6435f474ffe963e38bffee85bf4b80c5ad6e560f7114a76baed1','a1294802eb717c9bd81d9a6166ce96bdb406a6d63c8f506df1a7caec857744de','cb20340ffcf3671a308effc6657c0b2072703ead237bf13dc43abc6cbdef98fc','e52cb14caa5dc11be567da801812c78bd08f59ac385d9684c54facf5f3820bbd');
INSERT INTO "audit" VALUES(26,'2026-12-01T10:17:13.907222Z','root','plan.approved','15b6dcea1c2c6435f474ffe963e38bffee85bf4b80c5ad6e560f7114a76baed1','927717a39220423e4b5e1b738e8b371370eb22d1eefb0bf37ce92bd2264af1d1','e52cb14caa5dc11be567da801812c78bd08f59ac385d9684c54facf5f3820bbd','d32a57f34545c982f17af8e88d65daaa9283a24da51eeccf7ba9b3a547446808');
INSERT INTO "audit" VALUES(27,'2026-12-01T10:17:14.385223Z','reconcile','target.first_seen','9219db27c868b1f9c8ec08a284a3792d1fe583f75c7168d5cf28aceed854b3c4','29efa6f06df4b951a10d813b73a802886f357ae8948da06010f3d93a43359d06','d32a57f34545c982f17af8e88d65daaa9283a24da51eeccf7ba9b3a547446808','659637d2c597e57c1341590dcdb0ead73908472a53ee390dddfb90edeeedc8a5');
INSERT INTO "audit" VALUES(28,'2026-12-01T10:17:15.573308Z','reconcile','operation.sent','15b6dcea1c2c6435f474ffe963e38bffee85bf4b80c5ad6e560f7114a76baed1','640bcec5f42dba1b635f9fdc889fe76d0a6cc8177abcb765b813fb05ae4a6caa','659637d2c597e57c1341590dcdb0ead73908472a53ee390dddfb90edeeedc8a5','4d53899b82f0c8780ad8942fe16067d88b91a3cda09bf1113134815dc1403ae0');
INSERT INTO "audit" VALUES(29,'2026-12-01T10:17:15.723896Z','reconcile','operation.succeeded','15b6dcea1c2c6435f474ffe963e38bffee85bf4b80c5ad6e560f7114a76baed1','a44da7fd18e94dea07d17b11615f060dbe67d47269fdd6610a861a51dcd401b1','4d53899b82f0c8780ad8942fe16067d88b91a3cda09bf1113134815dc1403ae0','26e2840e8a38e81c36cd5d1c31fe4425239ac7483d4c16ffb5dfd1056b9d30e4');
INSERT INTO "audit" VALUES(30,'2026-12-01T10:17:15.914212Z','root','approval.approved','7e530d7c7ba96d73c232eb049bb4f7c3aff2cb90913283e76c752077eeea4fcb','c7b3aef52dd48739f918fa463e6233ad7a0d86384daa7934fb8aa5dd0b750409','26e2840e8a38e81c36cd5d1c31fe4425239ac7483d4c16ffb5dfd1056b9d30e4','159fa13a61052a8855e739f44eec564cca26c9aebffe735d5bc82bc06596b170');
INSERT INTO "audit" VALUES(31,'2026-12-01T10:17:15.914212Z','root','plan.approved','7e530d7c7ba96d73c232eb049bb4f7c3aff2cb90913283e76c752077eeea4fcb','104d33b5c99e3bccc25182162f3cf728761479c7afb62c9f6c583f23ac425ba3','159fa13a61052a8855e739f44eec564cca26c9aebffe735d5bc82bc06596b170','e6ec0e91d066ca2cd01fa91ec3ee4bd13c53301fdf150aff116bd2fca8685031');
INSERT INTO "audit" VALUES(32,'2026-12-01T10:17:17.232775Z','reconcile','operation.sent','7e530d7c7ba96d73c232eb049bb4f7c3aff2cb90913283e76c752077eeea4fcb','dd402bafcc81dd631aded2068ed73fdc60bacef96c273823ae19c199081d67b0','e6ec0e91d066ca2cd01fa91ec3ee4bd13c53301fdf150aff116bd2fca8685031','71a360ef246c9e91f1c64e9dabfb0984d365c53b43fd3df552492dc0e50cadd5');
INSERT INTO "audit" VALUES(33,'2026-12-01T10:17:17.343284Z','reconcile','operation.succeeded','7e530d7c7ba96d73c232eb049bb4f7c3aff2cb90913283e76c752077eeea4fcb','9c9e91ee2f5a4347f072297604a4a9e7084177ece9b64d800f0483707022939b','71a360ef246c9e91f1c64e9dabfb0984d365c53b43fd3df552492dc0e50cadd5','19ad7e3b9a38b8ea523d42e4aee63d1b3aeba04511d032d9863414a9427d68b4');
INSERT INTO "audit" VALUES(34,'2026-12-01T10:17:17.723570Z','root','plan.proposed','cdf6ca1a778e099bb11f00c90633bcd3819ae0aa1e30f67407c52e5d1aedd8ba','4a8af6ce1ebedd099c7e28fe80aded81f4c463c80ddd73db3b0e3169323f1ff6','19ad7e3b9a38b8ea523d42e4aee63d1b3aeba04511d032d9863414a9427d68b4','c6bda1120bb829073f282928b3ba576774c2b9574d9d7625022e0b63f365630c');
INSERT INTO "audit" VALUES(35,'2026-12-01T10:17:18.110771Z','reconcile','operation.sent','cdf6ca1a778e099bb11f00c90633bcd3819ae0aa1e30f67407c52e5d1aedd8ba','bf76306564a3c28389aedc9ec42192722b0906be69ab1c9dc02f79203e7d8d17','c6bda1120bb829073f282928b3ba576774c2b9574d9d7625022e0b63f365630c','3ced9bece764cb754b68527ae85242201fc20533a60ab83b3d23e5d073d9f680');
INSERT INTO "audit" VALUES(36,'2026-12-01T10:17:18.239414Z','reconcile','operation.succeeded','cdf6ca1a778e099bb11f00c90633bcd3819ae0aa1e30f67407c52e5d1aedd8ba','fbcf52053952553ca811566cbc3b2640c8dac5bab0b30bde959b9bbb25d65a96','3ced9bece764cb754b68527ae85242201fc20533a60ab83b3d23e5d073d9f680','991a75b3f5f74d0772ae823b1d1bbc0853796e217e350924f20243a35b5478e6');
INSERT INTO "audit" VALUES(37,'2026-12-01T10:17:18.643845Z','root','plan.skipped','84562c19cc601efa60d4ce6083d0b0fe30f979e1b99a2619dd183fb7bdec69ba','b322f32c155eab8b5cab0b6260c8975429551ba4ee693e3203bcfb6205edd8c3','991a75b3f5f74d0772ae823b1d1bbc0853796e217e350924f20243a35b5478e6','afce801c82c17bbcac2c37401c16b717719592e488652a18a22d895d1e86ce18');
INSERT INTO "audit" VALUES(38,'2026-12-01T10:17:18.643845Z','root','finding.dismissed','b34fb16626c61eca559b3e4a11675825768a209ac571401fa5d1e14b47590626','d8d39e1fdbb22b5aaf64541f0d1096cb683807d8107f253caa2faf31faee5906','afce801c82c17bbcac2c37401c16b717719592e488652a18a22d895d1e86ce18','4fcd1ae34116749fa2f445af030783be73b3cda5fac5a93607b3f8a48f2ebb68');
INSERT INTO "audit" VALUES(39,'2026-12-01T10:17:19.094982Z','root','finding.snoozed','85ebebc2b2d1f8ba6abb575aec0d8b23708a649b3783497e37a9133011c9258c','5bd19d6f4f3af1bcc0ca97fca96bc0ac5c9e8dfc211d83912c162f452365d0f9','4fcd1ae34116749fa2f445af030783be73b3cda5fac5a93607b3f8a48f2ebb68','54180396805a55b62ab36f76f0e15c81a216796630e0be70670abcafe1c29fde');
INSERT INTO "audit" VALUES(40,'2026-12-01T10:17:19.361156Z','root','finding.assigned','8261698c1aad807a4853ea31572894ff04349c607790c0bb548938009c6bbeb3','3c95759cc132d9ce734edce43a956ba8d7c2fd87bcd7f8c09e9c4405a3057c38','54180396805a55b62ab36f76f0e15c81a216796630e0be70670abcafe1c29fde','f84a82eabc8bfc155685ad4ad2f26966748b90e7009cc854fddfd27d6e0a7768');
INSERT INTO "audit" VALUES(41,'2026-12-01T10:17:19.598321Z','root','finding.handled','2cac93618ba198297df9e8c35ffaef419e18c9fd87f60c765bc7b968b865df6b','5c33eac778810ea63faf827f1885ab53aea554eff71594af980485bebae90664','f84a82eabc8bfc155685ad4ad2f26966748b90e7009cc854fddfd27d6e0a7768','691eb95cf689cd85bfe682be8cd4bd748e5f129579ed72945e6a8ab4ca1cafe0');
INSERT INTO "audit" VALUES(42,'2026-12-01T10:17:19.918282Z','root','user.added','ad65cedbcd42ed47e5e998cd7e1ff2598c59e1d6fc6fe4ea2bf33aca2d985edf','a1d24890859da24614132d56403718f3ea0b8390aedf0611ebccc145217119b0','691eb95cf689cd85bfe682be8cd4bd748e5f129579ed72945e6a8ab4ca1cafe0','84427bf1c8eeb8897d1489aa6cce078bfd3f9ed857ad7701211dadf58294a743');
INSERT INTO "audit" VALUES(43,'2026-12-01T10:17:23.673131Z','reconcile','finding.resolved','74163895b3553405017dc1295777128dd9882468ea4650c9abbc884b3fef3420','4a11b405433a0730e3b8f1e668383ba4176d7d6dbc677d8cc4741dbb84c11dbb','84427bf1c8eeb8897d1489aa6cce078bfd3f9ed857ad7701211dadf58294a743','ea0b09837d9177895895a4e36a140458729813311cd728161413a01a71032295');
INSERT INTO "audit" VALUES(44,'2026-12-01T10:17:23.673131Z','reconcile','finding.opened','21712606ed938e636a4198e424f0f7eb03eeb9cf6105efd0e659a9f63915b2e3','164731e365d1e43ddb3e60f85176b1e0a8c5e7f49d4e160aa9d03e07241c1cd6','ea0b09837d9177895895a4e36a140458729813311cd728161413a01a71032295','c820574cff667a9252b89b1aca930265e372a19b493ca1a44ff63cf6e04a52e3');
INSERT INTO "audit" VALUES(45,'2026-12-01T10:17:24.195860Z','reconcile','finding.resolved','7ecf09437fe73e4706abc4c3934407d4935abac861ae90a67505796f4cf9a8af','8d2ac8e47dff64106dd4bf75284f7f902a0f44c803ccd24c625936bcde4191da','c820574cff667a9252b89b1aca930265e372a19b493ca1a44ff63cf6e04a52e3','5c107543974f9d2ed694e4c4ebd731d23eb3aad0c496556198612c55403c40ab');
INSERT INTO "audit" VALUES(46,'2026-12-01T10:17:25.116668Z','reconcile','state.changed','657b97a7aee7a25aabe42941495709dbe47072d2e3a6613d3d41929634c6ee9c','882702754ed123b1b182838d60cc62b6ff851411d9b878bacbd27ec26c2a3515','5c107543974f9d2ed694e4c4ebd731d23eb3aad0c496556198612c55403c40ab','a7e0273efb23b7c56d4a66818e019052714d5b4a81c09b72812359f3479078a8');
INSERT INTO "audit" VALUES(47,'2026-12-01T10:17:25.450467Z','reconcile','message.queued','0d6307bb57f74893b54ad9a877d59627eef2eb62c7fcafaba9c3bf50ffa9dc82','96ce0dfafd0fa8c954ced2329702f2190ecd40e72f91d16ed169d831022ed27e','a7e0273efb23b7c56d4a66818e019052714d5b4a81c09b72812359f3479078a8','13ebaacbc5bcf6d735b3c76503f2f080072d2eb639a6a5ad5f93ecff7dcf3d33');
INSERT INTO "audit" VALUES(48,'2026-12-01T10:17:25.450467Z','reconcile','run.finished','4990717589f191a17033c7b16cb83bae415d2ddf7a509227229f8f911b2fd0b8','48609d21df743a59cc811db57bb53bc88e4abce5fb1c38d4a70afca7798e37bc','13ebaacbc5bcf6d735b3c76503f2f080072d2eb639a6a5ad5f93ecff7dcf3d33','09080d28ff94f772128fd81af084e7ee14cd025938aff3be730860c3beba1242');
INSERT INTO "audit" VALUES(49,'2026-12-01T10:17:25.751983Z','reconcile','message.sending','0d6307bb57f74893b54ad9a877d59627eef2eb62c7fcafaba9c3bf50ffa9dc82','0ecf36a259bd8c0986879eab70a67c9d7478848df52e141791d4f090512a589c','09080d28ff94f772128fd81af084e7ee14cd025938aff3be730860c3beba1242','8fc96d2bb9e0b22b7233cf9c4ee1f54e6733143d7e2ea6147224aed6a322b249');
INSERT INTO "audit" VALUES(50,'2026-12-01T10:17:25.840337Z','reconcile','message.sent','0d6307bb57f74893b54ad9a877d59627eef2eb62c7fcafaba9c3bf50ffa9dc82','becfe79b3b91cf467d7bf623800f11c283e006fa6ab4ffa5fb9e6c7c4e4a5836','8fc96d2bb9e0b22b7233cf9c4ee1f54e6733143d7e2ea6147224aed6a322b249','92fd014ef99e7e9a1676afd0ded14fa120c598a3e34069b8791d7ba69cf4a6a8');
CREATE TABLE audit_bodies (
	seq BIGINT NOT NULL, 
	salt TEXT NOT NULL, 
	body TEXT NOT NULL, 
	finding TEXT, 
	run TEXT, 
	CONSTRAINT pk_audit_bodies PRIMARY KEY (seq), 
	CONSTRAINT fk_audit_bodies_seq FOREIGN KEY(seq) REFERENCES audit (seq)
);
INSERT INTO "audit_bodies" VALUES(1,'d81706f7ddae1d3628c6b8b9420086413e9dcf828563bfff8fef10d28484cb5e','{"facts":[["finding","F-CWJ7CH",null,"879ad54562676ed940d4da4941451608"],["rule","twins",null,"38b6b3bc1af90b30f8fc208cb19dfeb2"]],"finding":"F-CWJ7CH","from":null,"records":2,"rule":"twins","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"open","version":1}','F-CWJ7CH','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(2,'8ea3fb2a398fa25089a86d4e973236f4f6b132c5168fadcbee564c8ac235dc17','{"facts":[["finding","F-QH622Z",null,"69626b041199bfde3752aa51c32fcae3"]],"finding":"F-QH622Z","from":null,"records":2,"rule":"twins","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"open","version":1}','F-QH622Z','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(3,'553ed7e15cf0827b57ad6b743b0fc3fca0252509bf7399a3f81241430013b7c4','{"facts":[["finding","F-VSA85K",null,"c5689de949f5df7cb3753197dd8d14aa"]],"finding":"F-VSA85K","from":null,"records":2,"rule":"twins","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"open","version":1}','F-VSA85K','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(4,'33c4ea11466b3ec934e32bdbc3f55177166f384c248ae3bebad718ecfd0eba5b','{"facts":[["finding","F-XWK0K6",null,"188b4357cd32c5cd27e8209fc35e6638"]],"finding":"F-XWK0K6","from":null,"records":2,"rule":"twins","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"open","version":1}','F-XWK0K6','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(5,'b8ff3bd9b7b459bc58ff078a4dd88dafa0680763c0f7948b1609ce30822b5a39','{"facts":[["finding","F-09NZ2Q",null,"1d61c1e522bc29497fae034a863edd01"],["rule","persons",null,"e35040e73c6d55b9a9a9da1d6933a8f9"]],"finding":"F-09NZ2Q","from":null,"records":2,"rule":"persons","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"open","version":1}','F-09NZ2Q','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(6,'f9967319a1c07534c5504810fea8bf51ee8718319a6adec5ed20a204325fce38','{"facts":[["finding","F-87V13D",null,"b817cc8285ac72c7222a3a7f49b9bc72"]],"finding":"F-87V13D","from":null,"records":2,"rule":"persons","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"open","version":1}','F-87V13D','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(7,'62144e57747617c12a1f17a443734a4f691a2f0f390cfa87f5c7245a17f386e8','{"facts":[["finding","F-92NS69",null,"9ac307dd2d7240a82863ece3cdf5decb"]],"finding":"F-92NS69","from":null,"records":2,"rule":"persons","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"open","version":1}','F-92NS69','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(8,'2ee621daca5f90529beabca683cc0582885c918822f3c706dbc3d6c109942dc8','{"facts":[["finding","F-HE7QVK",null,"c05078c25bcfdba662f2cc83aa3f2811"]],"finding":"F-HE7QVK","from":null,"records":2,"rule":"persons","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"open","version":1}','F-HE7QVK','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(9,'445f637adeceda8c4dab577a0df292c49a7f74a81ecea343bffca9f11c6e1578','{"facts":[["finding","F-1GR9GW",null,"1aa9534b03dc38fcaef7fb64abc9b3a0"],["rule","paid",null,"d91697961a2d6d365b4bd63c4aca93ee"]],"finding":"F-1GR9GW","from":null,"records":2,"rule":"paid","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"open","version":1}','F-1GR9GW','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(10,'660676dc9f34a2bbc36a24f81e9eb824a5473dda0532cf2bc2d0a05e3fbb16ce','{"facts":[["finding","F-7ZKCKD",null,"82087799917986387c7f187d5b800051"]],"finding":"F-7ZKCKD","from":null,"records":1,"rule":"paid","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"open","version":1}','F-7ZKCKD','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(11,'84e1ac61f3e624c2862290bbec9d05945d9ab0509a43a15813e17ded9fd3e37d','{"facts":[["finding","F-KT9FCH",null,"c2dd1f268f8a2a9ea125cf53f2529e0c"]],"finding":"F-KT9FCH","from":null,"records":1,"rule":"paid","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"open","version":1}','F-KT9FCH','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(12,'777b1718d45b8811558972ea4cf28e42095b1b78935879c111dbf0138756e35f','{"facts":[["finding","F-YM96EX",null,"357f972605a9e2e2ec53f7dbd09260b8"]],"finding":"F-YM96EX","from":null,"records":1,"rule":"paid","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"open","version":1}','F-YM96EX','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(13,'88ca5a8337ae269d26a2f680555dadfc5a886ccee33d944a75ef830e177251d4','{"facts":[["finding","F-Z3ABC3",null,"760ca128ac9792c4928250c444c6c522"],["rule","negative",null,"8581a143086775f7a1082a4b0777700f"]],"finding":"F-Z3ABC3","from":null,"records":1,"rule":"negative","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"open","version":1}','F-Z3ABC3','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(14,'1a81fbf22e7491e527553eba1991a42ca529d6e3a74a73985179f909697478e3','{"action":"set","also":[["finding","F-CWJ7CH","open","awaiting_approval"]],"facts":[["finding","F-CWJ7CH","879ad54562676ed940d4da4941451608","ef91e059a2e52f0e3d69bfc241a8de51"],["plan","P-ERNAG2KWM76J",null,"05eadf172db6ad8c04d0872e38244abf"],["limits","rule:twins",null,"7bd8766ed02d00de37b64435ed150775"],["limits","target:sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db",null,"3a0a440c64d186dac22691ff02b23f70"]],"finding":"F-CWJ7CH","from":null,"plan":"P-ERNAG2KWM76J","plan_hash":"a45dd1e2f0ea692535a797a044ea10cda6b62f140466b366784da10657ccccea","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_nlyqnapemzxthrfefjc2xjhhma","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-CWJ7CH','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(15,'f2eccb5362d58abd553cefc803161c4550de6e88381e77f9a8daf3c7c80461fe','{"action":"set","also":[["finding","F-QH622Z","open","awaiting_approval"]],"facts":[["finding","F-QH622Z","69626b041199bfde3752aa51c32fcae3","229498cfd6d73f7de5b13c5a961c65fd"],["plan","P-4AS5AGWJXQAB",null,"6c4febedf9eda4fa9020cb499e300d51"]],"finding":"F-QH622Z","from":null,"plan":"P-4AS5AGWJXQAB","plan_hash":"7d6757978ef2ba8fbcee6d9b0d3aed71f84ed4555a58142913b77c3393ebac4f","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_nlyqnapemzxthrfefjc2xjhhma","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-QH622Z','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(16,'42c1ce35eb333e337923037548a89d3689722d14ef88ec2cdab5dc1db1d7a6cd','{"action":"set","also":[["finding","F-VSA85K","open","awaiting_approval"]],"facts":[["finding","F-VSA85K","c5689de949f5df7cb3753197dd8d14aa","86ecf1ff07193ef5b8206d202251d392"],["plan","P-NTB3FI7OCFE3",null,"34aa1feb74ae13effda55f446a173745"]],"finding":"F-VSA85K","from":null,"plan":"P-NTB3FI7OCFE3","plan_hash":"bff5bab5df3feb06b180e08a03c3b8f1f553aa0b4c644f2fd0574cea841424e0","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_nlyqnapemzxthrfefjc2xjhhma","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-VSA85K','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(17,'fcd53615b85d1bec5a2b69a7616ae267c72fc99636cb98190a6e06fd04a65c38','{"action":"set","also":[["finding","F-XWK0K6","open","awaiting_approval"]],"facts":[["finding","F-XWK0K6","188b4357cd32c5cd27e8209fc35e6638","1546f585c0960b9c87ce750e47cc8352"],["plan","P-L6N4UKJC7WTJ",null,"d198a5710a12f086cbe4569c2cb5f0be"]],"finding":"F-XWK0K6","from":null,"plan":"P-L6N4UKJC7WTJ","plan_hash":"1ae2de1dea6439d1530e847eb55064a7d6ff8977acc1e25b2def646564295e4e","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":"run1_nlyqnapemzxthrfefjc2xjhhma","story":"finding.proposed","to":"awaiting_approval","undoes":null}','F-XWK0K6','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(18,'928978fc7d970283b5ed994578cd1f12825f775812f8d5914ab2b5584c4fb6f9','{"channel":"team","facts":[["rule","twins","38b6b3bc1af90b30f8fc208cb19dfeb2","acbbce10de26f5343c0d2747877f5e9b"]],"message":"msg1_f6303186449d24afe7444364","run":"run1_nlyqnapemzxthrfefjc2xjhhma"}',NULL,'run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(19,'52ad38f8b2da0e81e2b92563e7d042fa99712fbe12e568e679eebf1d1cbcf0b5','{"attempt":1,"failed":[],"job":"nightly","release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":["twins","persons","paid","negative"],"run":"run1_nlyqnapemzxthrfefjc2xjhhma","slot":"2026-12-01T10:16:57.654960Z","started":"2026-12-01T10:17:01.742338Z","status":"succeeded","trigger":"manual"}',NULL,'run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(20,'b7e00200f06b1dc750e166778a9ff0eecbc70f8541afc4438d12eaceea776394','{"attempt":1,"channel":"team","message":"msg1_f6303186449d24afe7444364","outcome_unknown":false,"run":"run1_nlyqnapemzxthrfefjc2xjhhma"}',NULL,'run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(21,'b72d18f3771df8c0225e31f0e76dc4119e60a029c02f8300cd26d17aef3333db','{"attempt":1,"channel":"team","found":false,"message":"msg1_f6303186449d24afe7444364","receipt":{"details":{"notice":"msg1_f6303186449d24afe7444364"},"where":"file messages.jsonl"},"run":"run1_nlyqnapemzxthrfefjc2xjhhma"}',NULL,'run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(22,'5efc925d7e06481b0c44149bfc07fa22d7b96d59ccc6b40d9d45bd4b1a52f475','{"facts":[["finding","F-XWK0K6","1546f585c0960b9c87ce750e47cc8352","0396b54f3647f18b1f32dae461bbdca5"],["limits","rule:twins","7bd8766ed02d00de37b64435ed150775","2cd722e30ed26695ae6891f4aef3943c"],["limits","target:sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db","3a0a440c64d186dac22691ff02b23f70","1d4f28618187ff3f077c6f47c80b6196"]],"finding":"F-XWK0K6","note":"the newer address","record":"701bd7d2d4c04f90ba385e953f724417","records":2,"rule":"twins","version":3}','F-XWK0K6',NULL);
INSERT INTO "audit_bodies" VALUES(23,'b9570eb03aff06420b014f0894819f2f728dd507cb993057caa2eb1aee11f161','{"facts":[["plan","P-L6N4UKJC7WTJ","d198a5710a12f086cbe4569c2cb5f0be","92d84379dfeff03cf3580d701fbd210e"]],"fence":0,"finding":"F-XWK0K6","from":"awaiting_approval","plan":"P-L6N4UKJC7WTJ","reason":"root chose another keeper","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"skipped"}','F-XWK0K6','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(24,'899d899c323fdc21ed921a83e930040dcc25f78f7ff866635595d2fbf17a3e33','{"action":"set","facts":[["plan","P-XLVCJRORZGJ7",null,"46472c8bf90493ec7a8a6b03fa1f7ba1"]],"finding":"F-XWK0K6","from":null,"plan":"P-XLVCJRORZGJ7","plan_hash":"702d380f679daa13a338c60d62c391ab964dd7af234712ccd79e7806f7de13e8","policy":"required","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":null,"to":"awaiting_approval","undoes":null}','F-XWK0K6',NULL);
INSERT INTO "audit_bodies" VALUES(25,'21934bf264e57f298e3924fd1ea6d0d014a1335b7a4ca54ec62b2aad7790e632','{"by":"root","decision":"approved","facts":[["finding","F-CWJ7CH","ef91e059a2e52f0e3d69bfc241a8de51","08cbbd911786020dfc1401ea5099d45c"],["plan","P-ERNAG2KWM76J","05eadf172db6ad8c04d0872e38244abf","7d27ff00d17fcdecc258e9478b49373f"]],"finding":"F-CWJ7CH","plan":"P-ERNAG2KWM76J","plan_hash":"a45dd1e2f0ea692535a797a044ea10cda6b62f140466b366784da10657ccccea","system":"root@vm","was":null}','F-CWJ7CH',NULL);
INSERT INTO "audit_bodies" VALUES(26,'58642186b5a2657572c29de300fab2ee030a709897aa0126891993c2a34c6afe','{"also":[["finding","F-CWJ7CH","awaiting_approval","approved"]],"fence":0,"finding":"F-CWJ7CH","from":"awaiting_approval","plan":"P-ERNAG2KWM76J","run":"run1_nlyqnapemzxthrfefjc2xjhhma","story":"finding.approved","to":"approved"}','F-CWJ7CH','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(27,'f25e6c6f88e61231a9f74702798e56a87cdc3181d9809f266bc838b4bfe8465c','{"source":"shop","target":"sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db"}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(28,'949fc46887a3b2cf1f49ea6622140f53a5fdca2fcdbd9a62dc9cd598be6a8d7b','{"also":[["finding","F-CWJ7CH","approved","cleaning"]],"attempt":1,"facts":[["plan","P-ERNAG2KWM76J","7d27ff00d17fcdecc258e9478b49373f","2ffb58bccb0897b989b4715d68f573b2"]],"fence":1,"finding":"F-CWJ7CH","from":"approved","keys":["rk1.oc6ygq.ebcv2vyn3hwtvl7dhymtue2gss5b6c3yo7kl7alqclfx6rrefvta"],"plan":"P-ERNAG2KWM76J","run":"run1_nlyqnapemzxthrfefjc2xjhhma","story":"finding.cleaning","to":"sent"}','F-CWJ7CH','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(29,'e80629e05c895f951db3a8bf46b66c0b394f82e0d51070976d68491626e5ff00','{"also":[["finding","F-CWJ7CH","cleaning","cleaned"]],"facts":[["finding","F-CWJ7CH","08cbbd911786020dfc1401ea5099d45c","91bfb5f1695b9cea840cdb417f92ed97"],["plan","P-ERNAG2KWM76J","2ffb58bccb0897b989b4715d68f573b2","664b58e2b46fdb67a5aa0fd071174cf9"]],"fence":1,"finding":"F-CWJ7CH","from":"sent","plan":"P-ERNAG2KWM76J","run":"run1_nlyqnapemzxthrfefjc2xjhhma","story":"finding.cleaned","to":"succeeded"}','F-CWJ7CH','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(30,'f4c02d117d8a525571e60a734ece0695e37bf730611c9106cff7ee569c336bfe','{"by":"root","decision":"approved","facts":[["finding","F-QH622Z","229498cfd6d73f7de5b13c5a961c65fd","1bde832ce008c4a462b05659a4fbe56e"],["plan","P-4AS5AGWJXQAB","6c4febedf9eda4fa9020cb499e300d51","2ec49e1bdcf40e6f525aab04661cb81b"]],"finding":"F-QH622Z","plan":"P-4AS5AGWJXQAB","plan_hash":"7d6757978ef2ba8fbcee6d9b0d3aed71f84ed4555a58142913b77c3393ebac4f","system":"root@vm","was":null}','F-QH622Z',NULL);
INSERT INTO "audit_bodies" VALUES(31,'4c30b531e58545f143a2e8820b42c44e3e04aa5e66b232252018ac6b544a9386','{"also":[["finding","F-QH622Z","awaiting_approval","approved"]],"fence":0,"finding":"F-QH622Z","from":"awaiting_approval","plan":"P-4AS5AGWJXQAB","run":"run1_nlyqnapemzxthrfefjc2xjhhma","story":"finding.approved","to":"approved"}','F-QH622Z','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(32,'6a053dfaf841fa791db3b098e17b38f19cdb31830cc1a86968db45a72b4b9e4b','{"also":[["finding","F-QH622Z","approved","cleaning"]],"attempt":1,"facts":[["plan","P-4AS5AGWJXQAB","2ec49e1bdcf40e6f525aab04661cb81b","5e383a5ad65d0bb9e6106fdc87e2ed0c"]],"fence":1,"finding":"F-QH622Z","from":"approved","keys":["rk1.oc6ygq.65gjbzwfxq324qvz4mx72dy7dwjsiamxxkinporu657fsblg5l5q"],"plan":"P-4AS5AGWJXQAB","run":"run1_nlyqnapemzxthrfefjc2xjhhma","story":"finding.cleaning","to":"sent"}','F-QH622Z','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(33,'1cd199761f4be93cbc802391e078a169360c874f11dc35e42f003d0ca05a8dcb','{"also":[["finding","F-QH622Z","cleaning","cleaned"]],"facts":[["finding","F-QH622Z","1bde832ce008c4a462b05659a4fbe56e","40407d94ed08243f673f80856128393f"],["plan","P-4AS5AGWJXQAB","5e383a5ad65d0bb9e6106fdc87e2ed0c","d02f3d6f1f3a978bdb47645ad84777ed"]],"fence":1,"finding":"F-QH622Z","from":"sent","plan":"P-4AS5AGWJXQAB","run":"run1_nlyqnapemzxthrfefjc2xjhhma","story":"finding.cleaned","to":"succeeded"}','F-QH622Z','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(34,'b73fc23977d2169d788ecb1099e7b6d5e3c819199fb57b1063ee410c4281aa7c','{"action":"undo","facts":[["plan","P-P6ZG7OXP4E4Z",null,"213c88e95829d603d58541011d7387b4"]],"finding":"F-CWJ7CH","from":null,"plan":"P-P6ZG7OXP4E4Z","plan_hash":"9105575df544977c4aac6fa9df242ced9fe07ba4f6072d8755dbb1a2f5e8667d","policy":"none","records":1,"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rows":1,"run":null,"to":"approved","undoes":"P-ERNAG2KWM76J"}','F-CWJ7CH',NULL);
INSERT INTO "audit_bodies" VALUES(35,'043e22395798c9d9a4bd9d4ff566991a35f2719a00fd3de8be8500a1494522f7','{"also":[["plan","P-ERNAG2KWM76J","succeeded","compensating"]],"attempt":1,"facts":[["plan","P-P6ZG7OXP4E4Z","213c88e95829d603d58541011d7387b4","9ed3f3695b7882d1c8d5be9515447d83"]],"fence":1,"finding":"F-CWJ7CH","from":"approved","keys":["rk1.oc6ygq.4cj5ocjiwpg5wo3gjub7wzkp2buazqhthoh5n6yh3g5dm456qzuq"],"plan":"P-P6ZG7OXP4E4Z","run":null,"to":"sent"}','F-CWJ7CH',NULL);
INSERT INTO "audit_bodies" VALUES(36,'59e406752c0297a72189f5d0bbd3c432d5a7c8f0eaecdc6b93aff306844a1f25','{"also":[["plan","P-ERNAG2KWM76J","compensating","compensated"],["finding","F-CWJ7CH","cleaned","undone"]],"facts":[["finding","F-CWJ7CH","91bfb5f1695b9cea840cdb417f92ed97","631a0d7016dcb5ffa35ad5cddd5ec2db"],["plan","P-P6ZG7OXP4E4Z","9ed3f3695b7882d1c8d5be9515447d83","08c32a9cef99ac5efb0642ff3903066b"]],"fence":1,"finding":"F-CWJ7CH","from":"sent","plan":"P-P6ZG7OXP4E4Z","run":null,"story":"finding.undone","to":"succeeded"}','F-CWJ7CH',NULL);
INSERT INTO "audit_bodies" VALUES(37,'b72b9bb88cd0f71ea91d2f304a32610d4a1873cfd262826cd176483ef9f8daab','{"facts":[["finding","F-VSA85K","86ecf1ff07193ef5b8206d202251d392","03c9e7220dbba28cb8ad165a3a78ea0c"],["plan","P-NTB3FI7OCFE3","34aa1feb74ae13effda55f446a173745","dc5de88349b31faccfebe349323481e3"],["limits","rule:twins","2cd722e30ed26695ae6891f4aef3943c","061a906640fabfed77745db7671e3ea1"],["limits","target:sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db","1d4f28618187ff3f077c6f47c80b6196","f38ba7b0b0d39e5fcba2ec151924d3a6"]],"fence":0,"finding":"F-VSA85K","from":"awaiting_approval","plan":"P-NTB3FI7OCFE3","reason":"dismissed by root","run":"run1_nlyqnapemzxthrfefjc2xjhhma","to":"skipped"}','F-VSA85K','run1_nlyqnapemzxthrfefjc2xjhhma');
INSERT INTO "audit_bodies" VALUES(38,'5e150e08502533f5ba2e58cffc54b40d6ffcba37a08b8909b786cb2478205f76','{"finding":"F-VSA85K","from":"awaiting_approval","note":"two people","pairs":1,"records":2,"rule":"twins","to":"dismissed","version":2}','F-VSA85K',NULL);
INSERT INTO "audit_bodies" VALUES(39,'c745a7f58325fa3b70f0611381eeb2515d1101a33f44d39263fa4f6394a8ef0c','{"facts":[["finding","F-09NZ2Q","1d61c1e522bc29497fae034a863edd01","88ba8c819d29620208d099e9f7fd56ee"]],"finding":"F-09NZ2Q","from":"open","records":2,"rule":"persons","to":"snoozed","until":"2999-01-01 00:00 UTC","version":1}','F-09NZ2Q',NULL);
INSERT INTO "audit_bodies" VALUES(40,'9a8a805f266bd23e93e64ce1fa36610014d63ce921f4f50acc2928af7abdf4a6','{"facts":[["finding","F-87V13D","b817cc8285ac72c7222a3a7f49b9bc72","b5cf87de9085081d5dcc361208f306e5"]],"finding":"F-87V13D","rule":"persons","whom":"bob"}','F-87V13D',NULL);
INSERT INTO "audit_bodies" VALUES(41,'d48ac2bf018ee85e8bfe958ad3f1f14e220f54854255a285aa7bb77caa10a437','{"facts":[["finding","F-7ZKCKD","82087799917986387c7f187d5b800051","89109c43929d6a945fa4cc05e9cbfceb"]],"finding":"F-7ZKCKD","from":"open","note":"refunded","pairs":0,"records":1,"rule":"paid","to":"handled","version":1}','F-7ZKCKD',NULL);
INSERT INTO "audit_bodies" VALUES(42,'2ad51d0e3137e6d5381e98172f6fc7ea047141fd64861b9adb1bd1a44f22731c','{"facts":[["user","ada",null,"df4c753cc15c669e6aef7471dd6a44d7"]],"role":"operator","sees_personal":false,"user":"ada"}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(43,'ab351d1b169dee42121279c5979133379e0fe186fb6cf99332e9f98f188ca7f7','{"facts":[["finding","F-YM96EX","357f972605a9e2e2ec53f7dbd09260b8","a17bc1998823fb6cae1aa8486d9b0b22"]],"finding":"F-YM96EX","from":"open","records":1,"rule":"paid","run":"run1_uznttqchrzm64cbboz2ocmrztq","to":"resolved","version":1,"why":"its records no longer match"}','F-YM96EX','run1_uznttqchrzm64cbboz2ocmrztq');
INSERT INTO "audit_bodies" VALUES(44,'91858d00aabc212b7c790a91d7615245fdb86dd99006b5e258602525ac36f038','{"facts":[["finding","F-3H742Y",null,"c69a863e792e76696d7fedcef4f9e5ff"]],"finding":"F-3H742Y","from":null,"records":1,"rule":"paid","run":"run1_uznttqchrzm64cbboz2ocmrztq","to":"open","version":1}','F-3H742Y','run1_uznttqchrzm64cbboz2ocmrztq');
INSERT INTO "audit_bodies" VALUES(45,'324a3aafb11007921679e85bb19b2661774d136600a3ba828634167fccd07fa9','{"facts":[["finding","F-Z3ABC3","760ca128ac9792c4928250c444c6c522","13e687d6953bbf9cdd79ab14201f48d9"]],"finding":"F-Z3ABC3","from":"open","records":1,"rule":"negative","run":"run1_uznttqchrzm64cbboz2ocmrztq","to":"resolved","version":1,"why":"its records no longer match"}','F-Z3ABC3','run1_uznttqchrzm64cbboz2ocmrztq');
INSERT INTO "audit_bodies" VALUES(46,'52eb79878a9c1b7e3502429147ac69087ab6049feb35d10160d5d44f4987cd4b','{"facts":[["limits","rule:twins","061a906640fabfed77745db7671e3ea1","3d6e9d6add1ae5304a27a964628977ed"],["limits","target:sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db","f38ba7b0b0d39e5fcba2ec151924d3a6","e670928f16c677d166aa6100d3e69f7e"],["plan","P-XLVCJRORZGJ7","46472c8bf90493ec7a8a6b03fa1f7ba1","737cb8669298861474285cae0b286a99"]]}',NULL,NULL);
INSERT INTO "audit_bodies" VALUES(47,'da32692ad64a47c8134b433bcb7bf9d3b3f5081626766023950bc7056ce98a59','{"channel":"team","message":"msg1_e4877ce26c317113b8131be8","run":"run1_uznttqchrzm64cbboz2ocmrztq"}',NULL,'run1_uznttqchrzm64cbboz2ocmrztq');
INSERT INTO "audit_bodies" VALUES(48,'1d5d21e98e5bc04460392806fd3ffe813ad2787cc7eab89bf2772fc082c45d76','{"attempt":1,"failed":[],"job":"nightly","release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":["twins","persons","paid","negative"],"run":"run1_uznttqchrzm64cbboz2ocmrztq","slot":"2026-12-01T10:17:20.892994Z","started":"2026-12-01T10:17:20.965460Z","status":"succeeded","trigger":"manual"}',NULL,'run1_uznttqchrzm64cbboz2ocmrztq');
INSERT INTO "audit_bodies" VALUES(49,'8a53253d4d9b27ea8759223a091c6e6209d2f6225cb2bddf35b7ba80f517961b','{"attempt":1,"channel":"team","message":"msg1_e4877ce26c317113b8131be8","outcome_unknown":false,"run":"run1_uznttqchrzm64cbboz2ocmrztq"}',NULL,'run1_uznttqchrzm64cbboz2ocmrztq');
INSERT INTO "audit_bodies" VALUES(50,'111e6c471543f7fe81913c60c32f0ed2391651ee9221989974d690d8577e1a2b','{"attempt":1,"channel":"team","found":false,"message":"msg1_e4877ce26c317113b8131be8","receipt":{"details":{"notice":"msg1_e4877ce26c317113b8131be8"},"where":"file messages.jsonl"},"run":"run1_uznttqchrzm64cbboz2ocmrztq"}',NULL,'run1_uznttqchrzm64cbboz2ocmrztq');
CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	head TEXT NOT NULL, 
	CONSTRAINT pk_audit_head PRIMARY KEY (id), 
	CONSTRAINT ck_audit_head_one_row CHECK (id = 1)
);
INSERT INTO "audit_head" VALUES(1,50,'92fd014ef99e7e9a1676afd0ded14fa120c598a3e34069b8791d7ba69cf4a6a8');
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
INSERT INTO "checkpoints" VALUES(21,1,'8ad7a0b57c64a716e20ce62a20c99e4fb8f86e9073eb62495a2e799ddf96ded9','2026-12-01T10:17:11.154290Z','40c5927b0376c7d644fa8ea1e120649b354b891d4f819b12e29533bc6554ef6e','893ec4a8d1fc1fd3fb86cb3e2cb7127121155e9b72350ab60881b5c4e6a4f59d3a250e65d915abe7fce978a542e422bd9a09f80a68e93708d5e456314528b803');
INSERT INTO "checkpoints" VALUES(24,1,'cb20340ffcf3671a308effc6657c0b2072703ead237bf13dc43abc6cbdef98fc','2026-12-01T10:17:13.568211Z','40c5927b0376c7d644fa8ea1e120649b354b891d4f819b12e29533bc6554ef6e','dbe3e06cde76b51b65cbc674aae5d6ed02b147aad26c9b87aca1a49e1040a382e9299b176a4099d5f4c714630fcccbf90012da50356d522598293677ab07d004');
INSERT INTO "checkpoints" VALUES(33,1,'19ad7e3b9a38b8ea523d42e4aee63d1b3aeba04511d032d9863414a9427d68b4','2026-12-01T10:17:17.435703Z','40c5927b0376c7d644fa8ea1e120649b354b891d4f819b12e29533bc6554ef6e','15083216ad74aba881f14737ba7e199464c94149b3d9af94bc461128d569b192bbd56e8d3616da489b3dab13178c925392747a645e823f060cf5034844d52c0e');
INSERT INTO "checkpoints" VALUES(36,1,'991a75b3f5f74d0772ae823b1d1bbc0853796e217e350924f20243a35b5478e6','2026-12-01T10:17:18.486009Z','40c5927b0376c7d644fa8ea1e120649b354b891d4f819b12e29533bc6554ef6e','20ee6540c4db4a0dfc23edb392ca2479436d492c6fea7187bf8059e69637b9616fadaac0b244b8c0dfa96d4daef47b85ea1b436e5efb471c7a93e4fc5c817605');
INSERT INTO "checkpoints" VALUES(50,1,'92fd014ef99e7e9a1676afd0ded14fa120c598a3e34069b8791d7ba69cf4a6a8','2026-12-01T10:17:25.903402Z','40c5927b0376c7d644fa8ea1e120649b354b891d4f819b12e29533bc6554ef6e','cbe69972e0b45b7c36211356a25b38b56c307d72102cc10674d5e2a9b54df472bf4779730bbea425a157bf91c73b65501d4530eb93c157df847ee7270b34590c');
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
INSERT INTO "dataset_schemas" VALUES('customers','twins','1e25c805782bdb4a8494d66807fb20b12c66ed294a8079cc2f1ac0983bc976c7','{"groups":[["run1_nlyqnapemzxthrfefjc2xjhhma",4],["run1_uznttqchrzm64cbboz2ocmrztq",3]],"previous":{"bare":{},"cleaned":0,"empty":{},"groups":4,"lacking":{"email":0.0,"id":0.0,"status":0.0},"members":8,"read":8,"rule":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","run":"run1_nlyqnapemzxthrfefjc2xjhhma","types":{"email":"text","id":"integer","merged_into":"integer","name":"text","phone":"text","status":"text"},"used":["email","id","merged_into","status"]},"shape":{"bare":{},"cleaned":0,"empty":{},"groups":3,"lacking":{"email":0.0,"id":0.0,"status":0.0},"members":6,"read":8,"rule":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","run":"run1_uznttqchrzm64cbboz2ocmrztq","types":{"email":"text","id":"integer","merged_into":"integer","name":"text","phone":"text","status":"text"},"used":["email","id","merged_into","status"]},"waiting":null}','2026-12-01T10:17:21.654263Z');
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
INSERT INTO "dataset_stats" VALUES('customers','twins','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:03.223589Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('customers','persons','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:04.744123Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('orders','paid','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:07.024107Z',3,3,0,4);
INSERT INTO "dataset_stats" VALUES('charges','paid','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:07.024107Z',4,4,0,4);
INSERT INTO "dataset_stats" VALUES('charges','negative','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:07.603609Z',4,4,0,1);
INSERT INTO "dataset_stats" VALUES('customers','twins','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:21.654263Z',8,7,0,3);
INSERT INTO "dataset_stats" VALUES('customers','persons','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:22.127899Z',8,8,0,4);
INSERT INTO "dataset_stats" VALUES('orders','paid','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:23.673131Z',3,3,0,4);
INSERT INTO "dataset_stats" VALUES('charges','paid','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:23.673131Z',4,4,0,4);
INSERT INTO "dataset_stats" VALUES('charges','negative','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:24.195860Z',4,4,0,0);
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
INSERT INTO "effects" VALUES('rk1.oc6ygq.ebcv2vyn3hwtvl7dhymtue2gss5b6c3yo7kl7alqclfx6rrefvta','P-ERNAG2KWM76J','sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','set:merged_into,status','ad0811afd9a7853fc7167269af96f3f748e06057e0b69a4b3b4e58686cba6511',1,'42389cf315fd41f5f8a8520c368a7b7a216555c2aa5bd77189214fbcc82569e4','compensated',0,'2026-12-01T10:17:15.573308Z','2026-12-01T10:17:15.723896Z');
INSERT INTO "effects" VALUES('rk1.oc6ygq.65gjbzwfxq324qvz4mx72dy7dwjsiamxxkinporu657fsblg5l5q','P-4AS5AGWJXQAB','sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','set:merged_into,status','19e2f0a7a431c89dc0f8da35aa211eb47b76fa32dfa949cc306bf885d1032da9',1,'ffec040adc2b28ac8d79053e4440484a6b1cf5f02597136080e09253712cf4b4','succeeded',0,'2026-12-01T10:17:17.232775Z','2026-12-01T10:17:17.343284Z');
INSERT INTO "effects" VALUES('rk1.oc6ygq.4cj5ocjiwpg5wo3gjub7wzkp2buazqhthoh5n6yh3g5dm456qzuq','P-P6ZG7OXP4E4Z','sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','set:merged_into,status.undo','ad0811afd9a7853fc7167269af96f3f748e06057e0b69a4b3b4e58686cba6511',1,'3fdcf0a663d7478555338c55f6ee78d96c1f377efa86897d14e5e36ebd087583','succeeded',0,'2026-12-01T10:17:18.110771Z','2026-12-01T10:17:18.239414Z');
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
INSERT INTO "facts" VALUES('finding','F-CWJ7CH','631a0d7016dcb5ffa35ad5cddd5ec2db');
INSERT INTO "facts" VALUES('finding','F-QH622Z','40407d94ed08243f673f80856128393f');
INSERT INTO "facts" VALUES('finding','F-VSA85K','03c9e7220dbba28cb8ad165a3a78ea0c');
INSERT INTO "facts" VALUES('finding','F-XWK0K6','0396b54f3647f18b1f32dae461bbdca5');
INSERT INTO "facts" VALUES('rule','twins','acbbce10de26f5343c0d2747877f5e9b');
INSERT INTO "facts" VALUES('finding','F-09NZ2Q','88ba8c819d29620208d099e9f7fd56ee');
INSERT INTO "facts" VALUES('finding','F-87V13D','b5cf87de9085081d5dcc361208f306e5');
INSERT INTO "facts" VALUES('finding','F-92NS69','9ac307dd2d7240a82863ece3cdf5decb');
INSERT INTO "facts" VALUES('finding','F-HE7QVK','c05078c25bcfdba662f2cc83aa3f2811');
INSERT INTO "facts" VALUES('rule','persons','e35040e73c6d55b9a9a9da1d6933a8f9');
INSERT INTO "facts" VALUES('finding','F-1GR9GW','1aa9534b03dc38fcaef7fb64abc9b3a0');
INSERT INTO "facts" VALUES('finding','F-7ZKCKD','89109c43929d6a945fa4cc05e9cbfceb');
INSERT INTO "facts" VALUES('finding','F-KT9FCH','c2dd1f268f8a2a9ea125cf53f2529e0c');
INSERT INTO "facts" VALUES('finding','F-YM96EX','a17bc1998823fb6cae1aa8486d9b0b22');
INSERT INTO "facts" VALUES('rule','paid','d91697961a2d6d365b4bd63c4aca93ee');
INSERT INTO "facts" VALUES('finding','F-Z3ABC3','13e687d6953bbf9cdd79ab14201f48d9');
INSERT INTO "facts" VALUES('rule','negative','8581a143086775f7a1082a4b0777700f');
INSERT INTO "facts" VALUES('plan','P-4AS5AGWJXQAB','d02f3d6f1f3a978bdb47645ad84777ed');
INSERT INTO "facts" VALUES('plan','P-ERNAG2KWM76J','664b58e2b46fdb67a5aa0fd071174cf9');
INSERT INTO "facts" VALUES('plan','P-L6N4UKJC7WTJ','92d84379dfeff03cf3580d701fbd210e');
INSERT INTO "facts" VALUES('plan','P-NTB3FI7OCFE3','dc5de88349b31faccfebe349323481e3');
INSERT INTO "facts" VALUES('limits','rule:twins','3d6e9d6add1ae5304a27a964628977ed');
INSERT INTO "facts" VALUES('limits','target:sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','e670928f16c677d166aa6100d3e69f7e');
INSERT INTO "facts" VALUES('plan','P-XLVCJRORZGJ7','737cb8669298861474285cae0b286a99');
INSERT INTO "facts" VALUES('plan','P-P6ZG7OXP4E4Z','08c32a9cef99ac5efb0642ff3903066b');
INSERT INTO "facts" VALUES('user','ada','df4c753cc15c669e6aef7471dd6a44d7');
INSERT INTO "facts" VALUES('finding','F-3H742Y','c69a863e792e76696d7fedcef4f9e5ff');
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
INSERT INTO "finding_aliases" VALUES('7b78eed930f265771e152d5be132faf6a6979eb2cdf4073177837cc6581742c3','F-CWJ7CH','2026-12-01T10:17:03.223589Z');
INSERT INTO "finding_aliases" VALUES('137cf716af983dad57cae9dad9897219da3f84fe0f7ca16d9633f433dadae2bc','F-QH622Z','2026-12-01T10:17:03.223589Z');
INSERT INTO "finding_aliases" VALUES('8d0867d1f301957fc530ec9ada71c6413d4e0356e111d5f4578cb7fe8bf104d5','F-VSA85K','2026-12-01T10:17:03.223589Z');
INSERT INTO "finding_aliases" VALUES('d77034a138293c079229cccc8ab5148a1ff7c179c35013e14165e5cb598a5048','F-XWK0K6','2026-12-01T10:17:03.223589Z');
INSERT INTO "finding_aliases" VALUES('0a20151e72ec0d5de32aacb69a026ba5dfc1f33f0f5346f384234164cc8e5357','F-09NZ2Q','2026-12-01T10:17:04.744123Z');
INSERT INTO "finding_aliases" VALUES('4de1127e30e667b660741382ba4887787791903f7d29ed11dbff41c013f6f298','F-87V13D','2026-12-01T10:17:04.744123Z');
INSERT INTO "finding_aliases" VALUES('c8005c8f81e4564a0d5105828a02754bfad90e2457c46cc11fe28fae37d22bcf','F-92NS69','2026-12-01T10:17:04.744123Z');
INSERT INTO "finding_aliases" VALUES('7f80b75f46db68efc66ab0186d2dbc910635a0901d2bbc14b37c8ef5a8df26bd','F-HE7QVK','2026-12-01T10:17:04.744123Z');
INSERT INTO "finding_aliases" VALUES('cde5ffef6644b8d5fcdc4893c022ea7c19026f894f92051f9cbfb9ce974c9784','F-1GR9GW','2026-12-01T10:17:07.024107Z');
INSERT INTO "finding_aliases" VALUES('e6be0250e6a167f7c8a4b4ad09ab4b19c14f2a447611e58d190d68d7865d86e6','F-7ZKCKD','2026-12-01T10:17:07.024107Z');
INSERT INTO "finding_aliases" VALUES('6cf4c4403c4ad7c3c91ec17679af2587450d5b6e598cbcd95410d74d2cda5a74','F-KT9FCH','2026-12-01T10:17:07.024107Z');
INSERT INTO "finding_aliases" VALUES('fee42b732737579d256fc8949f537ed39d92ff1a01edc2197e881558b1ce26ae','F-YM96EX','2026-12-01T10:17:07.024107Z');
INSERT INTO "finding_aliases" VALUES('8844f17012983db39e6a72a011555afe8ffcb90c228e74e2b97c86edbbea3889','F-Z3ABC3','2026-12-01T10:17:07.603609Z');
INSERT INTO "finding_aliases" VALUES('d690e314d68d87444246c277eccbe914cee2dd0ae0822749439057d1fa36cd43','F-3H742Y','2026-12-01T10:17:23.673131Z');
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
INSERT INTO "finding_members" VALUES('F-CWJ7CH','[["n","1"]]',0,'keeper','[["email",["t","ada@example.com"]],["id",["z","1"]]]','2026-12-01T10:17:03.223589Z','2026-12-01T10:17:15.723896Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-CWJ7CH','[["n","2"]]',1,'surplus','[["email",["t"," Ada@example.com"]],["id",["z","2"]]]','2026-12-01T10:17:03.223589Z','2026-12-01T10:17:15.723896Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-QH622Z','[["n","3"]]',0,'keeper','[["email",["t","bob@example.com"]],["id",["z","3"]]]','2026-12-01T10:17:03.223589Z','2026-12-01T10:17:17.343284Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-QH622Z','[["n","4"]]',1,'surplus','[["email",["t","BOB@example.com"]],["id",["z","4"]]]','2026-12-01T10:17:03.223589Z','2026-12-01T10:17:17.343284Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-VSA85K','[["n","5"]]',0,'keeper','[["email",["t","cy@example.com"]],["id",["z","5"]]]','2026-12-01T10:17:03.223589Z','2026-12-01T10:17:18.643845Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-VSA85K','[["n","6"]]',1,'surplus','[["email",["t","cy@example.com"]],["id",["z","6"]]]','2026-12-01T10:17:03.223589Z','2026-12-01T10:17:18.643845Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-XWK0K6','[["n","7"]]',0,'keeper','[["email",["t","di@example.com"]],["id",["z","7"]]]','2026-12-01T10:17:03.223589Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-XWK0K6','[["n","8"]]',1,'surplus','[["email",["t","di@example.com"]],["id",["z","8"]]]','2026-12-01T10:17:03.223589Z',NULL,'root','2026-12-01T10:17:13.240326Z',NULL);
INSERT INTO "finding_members" VALUES('F-09NZ2Q','[["n","1"]]',0,'keeper','[["phone",["t","+49 1"]],["name",["t","Ada Byron"]]]','2026-12-01T10:17:04.744123Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-09NZ2Q','[["n","2"]]',1,'surplus','[["phone",["t","+49 1"]],["name",["t","A. Byron"]]]','2026-12-01T10:17:04.744123Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-87V13D','[["n","3"]]',0,'keeper','[["phone",["t","+49 3"]],["name",["t","Bob Roe"]]]','2026-12-01T10:17:04.744123Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-87V13D','[["n","4"]]',1,'surplus','[["phone",["t","+49 4"]],["name",["t","Bob Roe"]]]','2026-12-01T10:17:04.744123Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-92NS69','[["n","5"]]',0,'keeper','[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','2026-12-01T10:17:04.744123Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-92NS69','[["n","6"]]',1,'surplus','[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','2026-12-01T10:17:04.744123Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-HE7QVK','[["n","7"]]',0,'keeper','[["phone",["t","+49 7"]],["name",["t","Di Poe"]]]','2026-12-01T10:17:04.744123Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-HE7QVK','[["n","8"]]',1,'surplus','[["phone",["t","+49 8"]],["name",["t","Di Poe"]]]','2026-12-01T10:17:04.744123Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-1GR9GW','[["t","B"]]',0,'left','[["id",["t","B"]],["total",["n","20.00"]]]','2026-12-01T10:17:07.024107Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-1GR9GW','[["@","charges"],["t","c2"]]',1,'right','[["order_id",["t","B"]],["amount",["n","21.50"]]]','2026-12-01T10:17:07.024107Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-7ZKCKD','[["t","C"]]',0,'left','[["id",["t","C"]],["total",["n","30.00"]]]','2026-12-01T10:17:07.024107Z','2026-12-01T10:17:19.598321Z',NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-KT9FCH','[["@","charges"],["t","c3"]]',0,'right','[["order_id",["t","D"]],["amount",["n","7.00"]]]','2026-12-01T10:17:07.024107Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-YM96EX','[["@","charges"],["t","c4"]]',0,'right','[["order_id",["t","E"]],["amount",["n","-3.00"]]]','2026-12-01T10:17:07.024107Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-Z3ABC3','[["t","c4"]]',0,'record','[["amount",["n","-3.00"]]]','2026-12-01T10:17:07.603609Z',NULL,NULL,NULL,NULL);
INSERT INTO "finding_members" VALUES('F-3H742Y','[["@","charges"],["t","c5"]]',0,'right','[["order_id",["t","F"]],["amount",["n","99.00"]]]','2026-12-01T10:17:23.673131Z',NULL,NULL,NULL,NULL);
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
INSERT INTO "findings" VALUES('F-CWJ7CH','7b78eed930f265771e152d5be132faf6a6979eb2cdf4073177837cc6581742c3','twins','duplicates','customers','undone',3,2,'[["email",["t","ada@example.com"]]]','{"change":"new","decided":"undone","not_undone":null,"reason":null,"settled_key":[["email",["t","ada@example.com"]]],"span":null,"summary":true}','{}',2,'run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:03.223589Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:21.654263Z','2026-12-01T10:17:18.239414Z',NULL,NULL,'root',NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-QH622Z','137cf716af983dad57cae9dad9897219da3f84fe0f7ca16d9633f433dadae2bc','twins','duplicates','customers','cleaned',3,2,'[["email",["t","bob@example.com"]]]','{"change":"new","reason":null,"settled_key":[["email",["t","bob@example.com"]]],"span":null,"summary":true}','{}',2,'run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:03.223589Z','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:03.223589Z','2026-12-01T10:17:17.343284Z',NULL,NULL,'root',NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-VSA85K','8d0867d1f301957fc530ec9ada71c6413d4e0356e111d5f4578cb7fe8bf104d5','twins','duplicates','customers','dismissed',3,2,'[["email",["t","cy@example.com"]]]','{"change":"new","decided":"dismissed","reason":null,"settled_key":[["email",["t","cy@example.com"]]],"span":null,"summary":true}','{}',2,'run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:03.223589Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:21.654263Z','2026-12-01T10:17:18.643845Z',NULL,NULL,'root','two people',NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-XWK0K6','d77034a138293c079229cccc8ab5148a1ff7c179c35013e14165e5cb598a5048','twins','duplicates','customers','awaiting_approval',3,3,'[["email",["t","di@example.com"]]]','{"change":"new","reason":null,"span":null,"summary":true}','{}',2,'run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:03.223589Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:21.654263Z','2026-12-01T10:17:13.240326Z',NULL,NULL,NULL,'the newer address',NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-09NZ2Q','0a20151e72ec0d5de32aacb69a026ba5dfc1f33f0f5346f384234164cc8e5357','persons','duplicates','customers','snoozed',3,1,'[["phone",["t","+49 1"]]]','{"change":"new","judged":[["@by phone",["t","+49 1"]]],"links":[[0,1,[0],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:04.744123Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:22.127899Z','2026-12-01T10:17:19.094982Z','2999-01-01T00:00:00.000000Z',NULL,'root',NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-87V13D','4de1127e30e667b660741382ba4887787791903f7d29ed11dbff41c013f6f298','persons','duplicates','customers','open',3,1,'[["name",["t","Bob Roe"]]]','{"change":"new","judged":[["@by name",["t","Bob Roe"]]],"links":[[0,1,[1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:04.744123Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:22.127899Z','2026-12-01T10:17:04.744123Z',NULL,'bob',NULL,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-92NS69','c8005c8f81e4564a0d5105828a02754bfad90e2457c46cc11fe28fae37d22bcf','persons','duplicates','customers','open',3,1,'[["phone",["t","+49 5"]],["name",["t","Cy Doe"]]]','{"change":"new","judged":[["@by phone",["t","+49 5"]],["@by name",["t","Cy Doe"]]],"links":[[0,1,[0,1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:04.744123Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:22.127899Z','2026-12-01T10:17:04.744123Z',NULL,NULL,NULL,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-HE7QVK','7f80b75f46db68efc66ab0186d2dbc910635a0901d2bbc14b37c8ef5a8df26bd','persons','duplicates','customers','open',3,1,'[["name",["t","Di Poe"]]]','{"change":"new","judged":[["@by name",["t","Di Poe"]]],"links":[[0,1,[1],true]],"reason":null,"span":null,"summary":true}','{}',2,'run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:04.744123Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:22.127899Z','2026-12-01T10:17:04.744123Z',NULL,NULL,NULL,NULL,NULL,NULL,0.0,NULL);
INSERT INTO "findings" VALUES('F-1GR9GW','cde5ffef6644b8d5fcdc4893c022ea7c19026f894f92051f9cbfb9ce974c9784','paid','reconciliation','orders','open',3,1,'[["id",["t","B"]]]','{"change":"new","datasets":["orders","charges"],"differing":[["total / amount",["n","20.00"],["n","21.50"],"total","amount"]],"form":"mismatch","form_reason":null,"judged":[["id",["t","B"]],["@form",["t","mismatch"]],["@at risk EUR",["n","1.50"]],["@left total",["n","20.00"]],["@right amount",["n","21.50"]]],"peaks":[["@at risk EUR","1.50"],["total / amount","1.50"]],"reason":null,"span":null,"summary":true}','{"EUR":"-1.50"}',2,'run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:07.024107Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:23.673131Z','2026-12-01T10:17:07.024107Z',NULL,NULL,NULL,NULL,NULL,NULL,-1.5,NULL);
INSERT INTO "findings" VALUES('F-7ZKCKD','e6be0250e6a167f7c8a4b4ad09ab4b19c14f2a447611e58d190d68d7865d86e6','paid','reconciliation','orders','handled',3,1,'[["id",["t","C"]]]','{"change":"new","datasets":["orders","charges"],"decided":"handled","decided_money":{"EUR":"30.00"},"differing":[],"form":"left_only","form_reason":null,"judged":[["id",["t","C"]],["@form",["t","left_only"]],["@at risk EUR",["n","30.00"]]],"peaks":[["@at risk EUR","30.00"]],"reason":null,"settled_key":[["id",["t","C"]],["@form",["t","left_only"]],["@at risk EUR",["n","30.00"]]],"span":null,"summary":true}','{"EUR":"30.00"}',1,'run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:07.024107Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:23.673131Z','2026-12-01T10:17:19.598321Z',NULL,NULL,'root','refunded',NULL,NULL,-30.0,NULL);
INSERT INTO "findings" VALUES('F-KT9FCH','6cf4c4403c4ad7c3c91ec17679af2587450d5b6e598cbcd95410d74d2cda5a74','paid','reconciliation','orders','open',3,1,'[["id",["t","D"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","D"]],["@form",["t","right_only"]],["@at risk EUR",["n","7.00"]]],"peaks":[["@at risk EUR","7.00"]],"reason":null,"span":null,"summary":true}','{"EUR":"-7.00"}',1,'run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:07.024107Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:23.673131Z','2026-12-01T10:17:07.024107Z',NULL,NULL,NULL,NULL,NULL,NULL,-7.0,NULL);
INSERT INTO "findings" VALUES('F-YM96EX','fee42b732737579d256fc8949f537ed39d92ff1a01edc2197e881558b1ce26ae','paid','reconciliation','orders','resolved',3,1,'[["id",["t","E"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","E"]],["@form",["t","right_only"]],["@at risk EUR",["n","3.00"]]],"peaks":[["@at risk EUR","3.00"]],"reason":"its records no longer match","span":null,"summary":true}','{"EUR":"3.00"}',1,'run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:07.024107Z','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:07.024107Z','2026-12-01T10:17:23.673131Z',NULL,NULL,NULL,NULL,NULL,NULL,-3.0,NULL);
INSERT INTO "findings" VALUES('F-Z3ABC3','8844f17012983db39e6a72a011555afe8ffcb90c228e74e2b97c86edbbea3889','negative','check','charges','resolved',3,1,'[["id",["t","c4"]],["amount",["n","-3.00"]]]','{"change":"new","form":"condition","judged":[["id",["t","c4"]],["amount",["n","-3.00"]]],"peaks":[["@at risk EUR","3.00"]],"reason":"its records no longer match","span":null,"summary":true}','{"EUR":"-3.00"}',1,'run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:07.603609Z','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:07.603609Z','2026-12-01T10:17:24.195860Z',NULL,NULL,NULL,NULL,NULL,NULL,-3.0,NULL);
INSERT INTO "findings" VALUES('F-3H742Y','d690e314d68d87444246c277eccbe914cee2dd0ae0822749439057d1fa36cd43','paid','reconciliation','orders','open',3,1,'[["id",["t","F"]]]','{"change":"new","datasets":["orders","charges"],"differing":[],"form":"right_only","form_reason":null,"judged":[["id",["t","F"]],["@form",["t","right_only"]],["@at risk EUR",["n","99.00"]]],"peaks":[["@at risk EUR","99.00"]],"reason":null,"span":null,"summary":false}','{"EUR":"-99.00"}',1,'run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:23.673131Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:23.673131Z','2026-12-01T10:17:23.673131Z',NULL,NULL,NULL,NULL,NULL,NULL,-99.0,NULL);
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
INSERT INTO "leases" VALUES('job:nightly',NULL,2,'2026-12-01T10:17:25.723609Z','2026-12-01T10:17:20.926748Z');
INSERT INTO "leases" VALUES('compaction',NULL,0,'2026-12-02T10:17:10.709796Z','2026-12-01T10:17:10.709796Z');
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
INSERT INTO "limit_uses" VALUES('P-4AS5AGWJXQAB','twins','sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:09.744889Z',1,'{}');
INSERT INTO "limit_uses" VALUES('P-ERNAG2KWM76J','twins','sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:09.744889Z',1,'{}');
INSERT INTO "limit_uses" VALUES('P-XLVCJRORZGJ7','twins','sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:25.116668Z',1,'{}');
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
INSERT INTO "limits" VALUES('target:sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db',NULL,NULL,'2026-12-01T10:17:25.116668Z',3,'{}','run1_uznttqchrzm64cbboz2ocmrztq',1,'{}');
INSERT INTO "limits" VALUES('rule:twins',NULL,NULL,'2026-12-01T10:17:25.116668Z',3,'{}','run1_uznttqchrzm64cbboz2ocmrztq',1,'{}');
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
INSERT INTO "meta" VALUES(1,'st_5d9e40b84871fb3d48ad63d193f97775',1,'0021','2f6ce71712fdddee41d2d653cb9052d124c7d31e96c14c0c7221b34415863bd4','2026-12-01T10:17:01.645547Z');
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
INSERT INTO "not_same" VALUES('twins','[["n","1"]]','[["n","2"]]','[["email",["t","ada@example.com"]]]','[["email",["t","ada@example.com"]]]','F-CWJ7CH','reconcile','2026-12-01T10:17:18.239414Z',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "not_same" VALUES('twins','[["n","5"]]','[["n","6"]]','[["email",["t","cy@example.com"]]]','[["email",["t","cy@example.com"]]]','F-VSA85K','root','2026-12-01T10:17:18.643845Z','two people',NULL,NULL,NULL,NULL);
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
INSERT INTO "notified" VALUES('F-7ZKCKD','team',1,'msg1_f6303186449d24afe7444364','2026-12-01T10:17:10.218316Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-KT9FCH','team',1,'msg1_f6303186449d24afe7444364','2026-12-01T10:17:10.218316Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-YM96EX','team',1,'msg1_f6303186449d24afe7444364','2026-12-01T10:17:10.218316Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-Z3ABC3','team',1,'msg1_f6303186449d24afe7444364','2026-12-01T10:17:10.218316Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-1GR9GW','team',1,'msg1_f6303186449d24afe7444364','2026-12-01T10:17:10.218316Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-09NZ2Q','team',1,'msg1_f6303186449d24afe7444364','2026-12-01T10:17:10.218316Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-87V13D','team',1,'msg1_f6303186449d24afe7444364','2026-12-01T10:17:10.218316Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-92NS69','team',1,'msg1_f6303186449d24afe7444364','2026-12-01T10:17:10.218316Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-HE7QVK','team',1,'msg1_f6303186449d24afe7444364','2026-12-01T10:17:10.218316Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-CWJ7CH','team',2,'msg1_f6303186449d24afe7444364','2026-12-01T10:17:10.218316Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-QH622Z','team',2,'msg1_f6303186449d24afe7444364','2026-12-01T10:17:10.218316Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-VSA85K','team',2,'msg1_f6303186449d24afe7444364','2026-12-01T10:17:10.218316Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-XWK0K6','team',3,'msg1_f6303186449d24afe7444364','2026-12-01T10:17:10.218316Z',NULL,NULL,NULL);
INSERT INTO "notified" VALUES('F-3H742Y','team',1,'msg1_e4877ce26c317113b8131be8','2026-12-01T10:17:25.450467Z',NULL,NULL,NULL);
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
INSERT INTO "outbox" VALUES('msg1_f6303186449d24afe7444364','team','nightly','run1_nlyqnapemzxthrfefjc2xjhhma','{"id":"msg1_f6303186449d24afe7444364","job":"nightly","run":"run1_nlyqnapemzxthrfefjc2xjhhma","slot":"2026-12-01T10:16:57.654960Z","rules":[{"rule":"twins","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":4,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"persons","severity":"medium","dataset":"customers","new":4,"grown":0,"reopened":0,"known":0,"resolved":0,"records":4,"money":{},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-09NZ2Q","state":"new","key":{"phone":"+49 1"},"keeper":"1","surplus":["2"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-87V13D","state":"new","key":{"name":"Bob Roe"},"keeper":"3","surplus":["4"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-92NS69","state":"new","key":{"phone":"+49 5","name":"Cy Doe"},"keeper":"5","surplus":["6"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-HE7QVK","state":"new","key":{"name":"Di Poe"},"keeper":"7","surplus":["8"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"paid","severity":"medium","dataset":"orders","new":4,"grown":0,"reopened":0,"known":0,"resolved":0,"records":0,"money":{"EUR":"41.50"},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-7ZKCKD","state":"new","key":{"id":"C"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"30.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"left_only","in_words":"missing in charges","left":["orders C"],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-KT9FCH","state":"new","key":{"id":"D"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"7.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c3"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-YM96EX","state":"new","key":{"id":"E"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"3.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c4"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-1GR9GW","state":"new","key":{"id":"B"},"keeper":"","surplus":[],"records":2,"money":{"EUR":"1.50"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"mismatch","in_words":"values differ","left":["orders B"],"right":["charges c2"],"differences":[{"column":"total / amount","left":"20.00","right":"21.50","apart":"by 1.50"}],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"reconciliation","datasets":["orders","charges"],"nouns":["discrepancy","discrepancies"],"forms":{"left_only":1,"mismatch":1,"right_only":2},"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"balance":[{"currency":"EUR","left":"60.00","right":"35.50","matched":"0.00","explained":"24.50","not_yet_due":"0","by_form":{"missing in charges":"30.00","missing in orders":"-4.00","values differ":"-1.50"},"not_reported":"0"}],"undecided":0,"first_message":false},{"rule":"negative","severity":"medium","dataset":"charges","new":1,"grown":0,"reopened":0,"known":0,"resolved":0,"records":0,"money":{"EUR":"3.00"},"first_run":true,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-Z3ABC3","state":"new","key":{"id":"c4","amount":"-3.00"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"3.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"condition","in_words":"amount is less than 0","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":"c4"}],"skipped":[],"kind":"check","datasets":[],"nouns":["failing record","failing records"],"forms":{"condition":1},"in_words":["1 failing record"],"balance":[],"undecided":0,"first_message":false}],"failures":[],"link":null,"test":false,"since":null,"created":"2026-12-01T10:17:10.218316Z","timezone":"UTC","trouble":null,"cleaning":[{"rule":"twins","severity":"medium","dataset":"customers","awaiting":4,"quarantined":0,"failed":0,"cleaned":0,"stale":0,"waiting":0,"money":{},"stopped":null,"undo":null,"findings":[{"finding":"F-CWJ7CH","state":"awaiting_approval","key":{"email":"ada@example.com"},"keeper":"1","surplus":["2"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"a45dd1e2f0ea692535a797a044ea10cda6b62f140466b366784da10657ccccea","plan_does":"mark 1 record","plan_expires":"2026-12-08T10:17:09.744889Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-QH622Z","state":"awaiting_approval","key":{"email":"bob@example.com"},"keeper":"3","surplus":["4"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"7d6757978ef2ba8fbcee6d9b0d3aed71f84ed4555a58142913b77c3393ebac4f","plan_does":"mark 1 record","plan_expires":"2026-12-08T10:17:09.744889Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-VSA85K","state":"awaiting_approval","key":{"email":"cy@example.com"},"keeper":"5","surplus":["6"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"bff5bab5df3feb06b180e08a03c3b8f1f553aa0b4c644f2fd0574cea841424e0","plan_does":"mark 1 record","plan_expires":"2026-12-08T10:17:09.744889Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""},{"finding":"F-XWK0K6","state":"awaiting_approval","key":{"email":"di@example.com"},"keeper":"7","surplus":["8"],"records":2,"money":{},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":"1ae2de1dea6439d1530e847eb55064a7d6ff8977acc1e25b2def646564295e4e","plan_does":"mark 1 record","plan_expires":"2026-12-08T10:17:09.744889Z","form":"duplicate","in_words":"duplicate","left":[],"right":[],"differences":[],"form_reason":null,"joined":[],"added":{},"version":2,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"owner":null,"not_undone":0,"next_run":null,"runbook":null,"undone":0,"undos_waiting":0,"expired":0,"void":0,"withdrawn":0,"waits_for":null,"doubt":null,"plans":[]}],"project":null,"escalation":null,"fallback_of":null}',1,'sent',1,'2026-12-01T10:17:10.218316Z','2026-12-01T10:17:10.218316Z','2026-12-04T10:17:10.218316Z',1,NULL,'2026-12-01T10:22:10.534609Z',0,NULL,'{"details":{"notice":"msg1_f6303186449d24afe7444364"},"where":"file messages.jsonl"}','2026-12-01T10:17:10.586617Z',NULL,NULL,NULL,NULL);
INSERT INTO "outbox" VALUES('msg1_e4877ce26c317113b8131be8','team','nightly','run1_uznttqchrzm64cbboz2ocmrztq','{"id":"msg1_e4877ce26c317113b8131be8","job":"nightly","run":"run1_uznttqchrzm64cbboz2ocmrztq","slot":"2026-12-01T10:17:20.892994Z","rules":[{"rule":"twins","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":1,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"persons","severity":"medium","dataset":"customers","new":0,"grown":0,"reopened":0,"known":4,"resolved":0,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"duplicates","datasets":[],"nouns":["finding","findings"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false},{"rule":"paid","severity":"medium","dataset":"orders","new":1,"grown":0,"reopened":0,"known":2,"resolved":1,"records":0,"money":{"EUR":"99.00"},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[{"finding":"F-3H742Y","state":"new","key":{"id":"F"},"keeper":"","surplus":[],"records":1,"money":{"EUR":"99.00"},"first":null,"last":null,"seconds_apart":[],"nearby":[],"nearby_records":0,"repetition":null,"history":null,"plan_hash":null,"plan_does":null,"plan_expires":null,"form":"right_only","in_words":"missing in orders","left":[],"right":["charges c5"],"differences":[],"form_reason":null,"joined":[],"added":{},"version":1,"proof":null,"outcome":null,"link":null,"kept_by":null,"display":[],"approvals":null,"record":""}],"skipped":[],"kind":"reconciliation","datasets":["orders","charges"],"nouns":["discrepancy","discrepancies"],"forms":{"right_only":1},"in_words":["1 missing in orders"],"balance":[{"currency":"EUR","left":"60.00","right":"137.50","matched":"0.00","explained":"-77.50","not_yet_due":"0","by_form":{"missing in charges":"30.00","missing in orders":"-106.00","values differ":"-1.50"},"not_reported":"0"}],"undecided":0,"first_message":false},{"rule":"negative","severity":"medium","dataset":"charges","new":0,"grown":0,"reopened":0,"known":0,"resolved":1,"records":0,"money":{},"first_run":false,"edited":false,"owner":null,"runbook":null,"why":null,"trend":null,"largest":[],"skipped":[],"kind":"check","datasets":[],"nouns":["failing record","failing records"],"forms":{},"in_words":[],"balance":[],"undecided":0,"first_message":false}],"failures":[],"link":null,"test":false,"since":"2026-12-01T10:16:57.654960Z","created":"2026-12-01T10:17:25.450467Z","timezone":"UTC","trouble":null,"cleaning":[{"rule":"twins","severity":"medium","dataset":"customers","awaiting":0,"quarantined":0,"failed":0,"cleaned":2,"stale":0,"waiting":0,"money":{},"stopped":null,"undo":"reconcile undo F-QH622Z","findings":[],"owner":null,"not_undone":0,"next_run":null,"runbook":null,"undone":1,"undos_waiting":0,"expired":0,"void":0,"withdrawn":0,"waits_for":null,"doubt":null,"plans":[{"finding":"F-CWJ7CH","what":"cleaned","does":"mark 1 record","why":null},{"finding":"F-QH622Z","what":"cleaned","does":"mark 1 record","why":null},{"finding":"F-CWJ7CH","what":"undone","does":"","why":null}]}],"project":null,"escalation":null,"fallback_of":null}',1,'sent',1,'2026-12-01T10:17:25.450467Z','2026-12-01T10:17:25.450467Z','2026-12-04T10:17:25.450467Z',1,NULL,'2026-12-01T10:22:25.751983Z',0,NULL,'{"details":{"notice":"msg1_e4877ce26c317113b8131be8"},"where":"file messages.jsonl"}','2026-12-01T10:17:25.840337Z',NULL,NULL,NULL,NULL);
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
INSERT INTO "plans" VALUES('P-ERNAG2KWM76J','F-CWJ7CH','twins','customers','shop','sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','set','run1_nlyqnapemzxthrfefjc2xjhhma','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','a45dd1e2f0ea692535a797a044ea10cda6b62f140466b366784da10657ccccea',NULL,'compensated',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","ada@example.com"],"id":["i","1"],"merged_into":null,"name":["t","Ada Byron"],"phone":["t","+49 1"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","1"]]],"table":"customers"}},{"after":{"merged_into":["i","1"],"status":["t","duplicate"]},"before":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":null,"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","2"]]],"table":"customers"}}],"dataset":"customers","finding":"F-CWJ7CH","ignore_drift":[],"keeper":"[[\"n\",\"1\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"42389cf315fd41f5f8a8520c368a7b7a216555c2aa5bd77189214fbcc82569e4","generation":1,"record":"[[\"n\",\"2\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"fa2d3cdb5d05b93b583b278cb2c72d5a","source":"shop","table":"customers","target":"sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db","triggers":[],"undoes":null,"why":[]}','[{"after":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":["i","1"],"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","duplicate"]}}]','{"approved_within":{"group":5,"money":{},"records":100,"share":"1","source_money":{},"source_records":100},"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T10:17:09.744889Z','2026-12-08T10:17:09.744889Z',1,NULL,'2026-12-01T10:18:15.573308Z',1,'2026-12-01T10:17:13.907222Z',NULL,NULL,'2026-12-01T10:17:15.573308Z','2026-12-01T10:17:15.723896Z');
INSERT INTO "plans" VALUES('P-4AS5AGWJXQAB','F-QH622Z','twins','customers','shop','sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','set','run1_nlyqnapemzxthrfefjc2xjhhma','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','7d6757978ef2ba8fbcee6d9b0d3aed71f84ed4555a58142913b77c3393ebac4f',NULL,'succeeded',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","bob@example.com"],"id":["i","3"],"merged_into":null,"name":["t","Bob Roe"],"phone":["t","+49 3"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","3"]]],"table":"customers"}},{"after":{"merged_into":["i","3"],"status":["t","duplicate"]},"before":{"email":["t","BOB@example.com"],"id":["i","4"],"merged_into":null,"name":["t","Bob Roe"],"phone":["t","+49 4"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","4"]]],"table":"customers"}}],"dataset":"customers","finding":"F-QH622Z","ignore_drift":[],"keeper":"[[\"n\",\"3\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"ffec040adc2b28ac8d79053e4440484a6b1cf5f02597136080e09253712cf4b4","generation":1,"record":"[[\"n\",\"4\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"0c55c9549926d2f9e9fc614395b1948f","source":"shop","table":"customers","target":"sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db","triggers":[],"undoes":null,"why":[]}','[{"after":{"email":["t","BOB@example.com"],"id":["i","4"],"merged_into":["i","3"],"name":["t","Bob Roe"],"phone":["t","+49 4"],"status":["t","duplicate"]}}]','{"approved_within":{"group":5,"money":{},"records":100,"share":"1","source_money":{},"source_records":100},"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T10:17:09.744889Z','2026-12-08T10:17:09.744889Z',1,NULL,'2026-12-01T10:18:17.232775Z',1,'2026-12-01T10:17:15.914212Z',NULL,NULL,'2026-12-01T10:17:17.232775Z','2026-12-01T10:17:17.343284Z');
INSERT INTO "plans" VALUES('P-NTB3FI7OCFE3','F-VSA85K','twins','customers','shop','sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','set','run1_nlyqnapemzxthrfefjc2xjhhma','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','bff5bab5df3feb06b180e08a03c3b8f1f553aa0b4c644f2fd0574cea841424e0',NULL,'skipped','dismissed by root','{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","cy@example.com"],"id":["i","5"],"merged_into":null,"name":["t","Cy Doe"],"phone":["t","+49 5"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","5"]]],"table":"customers"}},{"after":{"merged_into":["i","5"],"status":["t","duplicate"]},"before":{"email":["t","cy@example.com"],"id":["i","6"],"merged_into":null,"name":["t","Cy Doe"],"phone":["t","+49 5"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","6"]]],"table":"customers"}}],"dataset":"customers","finding":"F-VSA85K","ignore_drift":[],"keeper":"[[\"n\",\"5\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"4bf5bb22dd4950d86d5a2628f7c33c8ac36af040daf98d563956e457a7cfd348","generation":1,"record":"[[\"n\",\"6\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"911a305ebd8522163e66f4ed2e469127","source":"shop","table":"customers","target":"sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T10:17:09.744889Z','2026-12-08T10:17:09.744889Z',0,NULL,'2026-12-01T10:17:09.744889Z',0,'2026-12-01T10:17:09.744889Z',NULL,NULL,NULL,'2026-12-01T10:17:18.643845Z');
INSERT INTO "plans" VALUES('P-L6N4UKJC7WTJ','F-XWK0K6','twins','customers','shop','sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','set','run1_nlyqnapemzxthrfefjc2xjhhma','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','1ae2de1dea6439d1530e847eb55064a7d6ff8977acc1e25b2def646564295e4e',NULL,'skipped','root chose another keeper','{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","di@example.com"],"id":["i","7"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 7"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","7"]]],"table":"customers"}},{"after":{"merged_into":["i","7"],"status":["t","duplicate"]},"before":{"email":["t","di@example.com"],"id":["i","8"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 8"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","8"]]],"table":"customers"}}],"dataset":"customers","finding":"F-XWK0K6","ignore_drift":[],"keeper":"[[\"n\",\"7\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"39e09b4f438aba624ad4d0bff2584b49348eb17760b50141695db2672fb58bf8","generation":1,"record":"[[\"n\",\"8\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"302015b4e8446eefe420930d122a7e17","source":"shop","table":"customers","target":"sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T10:17:09.744889Z','2026-12-08T10:17:09.744889Z',0,NULL,'2026-12-01T10:17:09.744889Z',0,'2026-12-01T10:17:09.744889Z',NULL,NULL,NULL,'2026-12-01T10:17:13.240326Z');
INSERT INTO "plans" VALUES('P-XLVCJRORZGJ7','F-XWK0K6','twins','customers','shop','sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','set',NULL,'d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','702d380f679daa13a338c60d62c391ab964dd7af234712ccd79e7806f7de13e8',NULL,'awaiting_approval',NULL,'{"action":"set","binding":"0fe87f2c1f97d243725b9db64adc8e0adc0248f6211f18d31506527962b9d793","catalogue":"6f5873150051652799b4f1cae2d9b0d742f5ab041b149c27d05052b9b2334269","changes":[{"after":{},"before":{"email":["t","di@example.com"],"id":["i","8"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 8"],"status":["t","new"]},"role":"keeper","row":{"key":[["id",["i","8"]]],"table":"customers"}},{"after":{"merged_into":["i","8"],"status":["t","duplicate"]},"before":{"email":["t","di@example.com"],"id":["i","7"],"merged_into":null,"name":["t","Di Poe"],"phone":["t","+49 7"],"status":["t","new"]},"role":"surplus","row":{"key":[["id",["i","7"]]],"table":"customers"}}],"dataset":"customers","finding":"F-XWK0K6","ignore_drift":[],"keeper":"[[\"n\",\"8\"]]","money":{},"operations":[{"effect":"set:merged_into,status","fingerprint":"2f1d906aedaa8b5bc7e3d009bf0a03f8036a1fd1e6bd1cf5244486ed4c803b3b","generation":1,"record":"[[\"n\",\"7\"]]"}],"origins":{},"references":[],"reversible":"yes","rule":"twins","salt":"302015b4e8446eefe420930d122a7e17","source":"shop","table":"customers","target":"sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db","triggers":[],"undoes":null,"why":[]}',NULL,'{"effects":["set:merged_into,status"],"table":"customers"}',1,1,'{}','yes','required','reconcile','2026-12-01T10:17:13.240326Z','2026-12-08T10:17:13.240326Z',0,NULL,'2026-12-01T10:17:13.240326Z',0,'2026-12-01T10:17:13.240326Z',NULL,NULL,NULL,NULL);
INSERT INTO "plans" VALUES('P-P6ZG7OXP4E4Z','F-CWJ7CH','twins','customers','shop','sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','undo',NULL,'d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','9105575df544977c4aac6fa9df242ced9fe07ba4f6072d8755dbb1a2f5e8667d','P-ERNAG2KWM76J','succeeded',NULL,'{"action":"undo","binding":"","catalogue":"","changes":[{"after":{"merged_into":null,"status":["t","new"]},"before":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":["i","1"],"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","duplicate"]},"role":"surplus","row":{"key":[["id",["i","2"]]],"table":"customers"}}],"dataset":"customers","finding":"F-CWJ7CH","ignore_drift":[],"keeper":"[[\"n\",\"1\"]]","money":{},"operations":[{"effect":"set:merged_into,status.undo","fingerprint":"3fdcf0a663d7478555338c55f6ee78d96c1f377efa86897d14e5e36ebd087583","generation":1,"record":"[[\"n\",\"2\"]]"}],"origins":{},"references":[],"reversible":"no","rule":"twins","salt":"fa2d3cdb5d05b93b583b278cb2c72d5a","source":"shop","table":"customers","target":"sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db","triggers":[],"undoes":"P-ERNAG2KWM76J","why":["an undo cannot be undone; reopen the finding and clean it again"]}','[{"after":{"email":["t"," Ada@example.com"],"id":["i","2"],"merged_into":null,"name":["t","A. Byron"],"phone":["t","+49 1"],"status":["t","new"]}}]','{"effects":["set:merged_into,status.undo"],"table":"customers"}',1,1,'{}','no','none','root','2026-12-01T10:17:17.723570Z',NULL,1,NULL,'2026-12-01T10:18:18.110771Z',1,'2026-12-01T10:17:17.723570Z',NULL,NULL,'2026-12-01T10:17:18.110771Z','2026-12-01T10:17:18.239414Z');
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
INSERT INTO "record_ids" VALUES('customers','["id"]','["integer"]','2026-12-01T10:17:03.140040Z');
INSERT INTO "record_ids" VALUES('charges','["id"]','["text"]','2026-12-01T10:17:07.012902Z');
INSERT INTO "record_ids" VALUES('orders','["id"]','["text"]','2026-12-01T10:17:07.012902Z');
CREATE TABLE releases (
	hash TEXT NOT NULL, 
	config TEXT NOT NULL, 
	first_seen TEXT NOT NULL, 
	files TEXT, 
	CONSTRAINT pk_releases PRIMARY KEY (hash)
);
INSERT INTO "releases" VALUES('d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','{"channels":{"team":{"path":"messages.jsonl","type":"file"}},"datasets":{"charges":{"id":"id","money":{"amount":"amount","currency":"EUR"},"source":"shop","table":"charges"},"customers":{"id":"id","source":"shop","table":"customers"},"orders":{"id":"id","money":{"amount":"total","currency":"EUR"},"source":"shop","table":"orders"}},"jobs":{"nightly":{"notify":["team"],"rules":"all"}},"rules":{"negative":{"dataset":"charges","kind":"check","where":"amount < 0"},"paid":{"compare":[{"left":"total","right":"amount"}],"key":[{"left":"id","right":"order_id"}],"kind":"reconciliation","left":"orders","right":"charges"},"persons":{"dataset":"customers","key":{"any":[["phone"],["name"]]},"kind":"duplicates","max_share":"100%"},"twins":{"clean":{"action":"set","values":{"merged_into":"{{ keeper.id }}","status":"duplicate"}},"dataset":"customers","keep":[{"first":"id"}],"key":[{"email":["trim","lower"]}],"kind":"duplicates","limits":{"records":"100","share":"100%"},"where":"status <> ''duplicate''"}},"sources":{"shop":{"type":"sql","url":"sqlite:///shop.db"}},"state":"sqlite:///state.db","version":"1"}','2026-12-01T10:17:01.742338Z','[["reconcile.yaml","version: 1\nstate: sqlite:///state.db\nsources:\n  shop:\n    type: sql\n    url: sqlite:///shop.db\ndatasets:\n  customers:\n    source: shop\n    table: customers\n    id: id\n  orders:\n    source: shop\n    table: orders\n    id: id\n    money:\n      amount: total\n      currency: EUR\n  charges:\n    source: shop\n    table: charges\n    id: id\n    money:\n      amount: amount\n      currency: EUR\nrules:\n  twins:\n    kind: duplicates\n    dataset: customers\n    key:\n      - email:\n          - trim\n          - lower\n    where: status <> ''duplicate''\n    keep:\n      - first: id\n    clean:\n      action: set\n      values:\n        status: duplicate\n        merged_into: \"{{ keeper.id }}\"\n    limits:\n      records: 100\n      share: 100%\n  persons:\n    kind: duplicates\n    dataset: customers\n    key:\n      any:\n        - - phone\n        - - name\n    max_share: 100%\n  paid:\n    kind: reconciliation\n    left: orders\n    right: charges\n    key:\n      - left: id\n        right: order_id\n    compare:\n      - left: total\n        right: amount\n  negative:\n    kind: check\n    dataset: charges\n    where: amount < 0\nchannels:\n  team:\n    type: file\n    path: messages.jsonl\njobs:\n  nightly:\n    rules: all\n    notify:\n      - team\n"]]');
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
INSERT INTO "rule_state" VALUES('twins','ba93d1775e063ab3c4bc4a413cc33aa72a6da7aab57eecbfb47647751ad3b112','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:03.223589Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:21.654263Z',NULL,'92ffbbcac0c09ab11a6ff03191cc2e6532a72b1a68d60ba239f93b5c63340652');
INSERT INTO "rule_state" VALUES('persons','6697642266c1d209d134050e2dadb193f1f833d07b57586db5fa61b233f7f150','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:04.744123Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:22.127899Z',NULL,NULL);
INSERT INTO "rule_state" VALUES('paid','e010e09295850fb3a848b5a34c9e6cbdc595377a1e8f59793400c4e67934fd2b','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:07.024107Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:23.673131Z',NULL,NULL);
INSERT INTO "rule_state" VALUES('negative','d187f92eafe0ac7cbd360ecd7e021c40e3a128d982fc360e28207b4a51d8fa2b','run1_nlyqnapemzxthrfefjc2xjhhma','2026-12-01T10:17:07.603609Z','run1_uznttqchrzm64cbboz2ocmrztq','2026-12-01T10:17:24.195860Z',NULL,NULL);
CREATE TABLE run_rules (
	run TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	status TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	finished TEXT NOT NULL, 
	CONSTRAINT pk_run_rules PRIMARY KEY (run, rule), 
	CONSTRAINT fk_run_rules_run FOREIGN KEY(run) REFERENCES runs (id)
);
INSERT INTO "run_rules" VALUES('run1_nlyqnapemzxthrfefjc2xjhhma','twins','done','{"cleaning":{"binding":"92ffbbcac0c09ab11a6ff03191cc2e6532a72b1a68d60ba239f93b5c63340652","cleaned":0,"failed":0,"proposed":4,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":8,"seconds":1.258,"severity":"medium","skipped":[]}','2026-12-01T10:17:10.199471Z');
INSERT INTO "run_rules" VALUES('run1_nlyqnapemzxthrfefjc2xjhhma','persons','done','{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":1.246,"severity":"medium","skipped":[]}','2026-12-01T10:17:04.744123Z');
INSERT INTO "run_rules" VALUES('run1_nlyqnapemzxthrfefjc2xjhhma','paid','done','{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-4.00"},"currency":"EUR","explained":"24.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"35.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"left_only":1,"mismatch":1,"right_only":2},"groups":4,"groups_before":[],"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"matched":2,"money":{"EUR":"41.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":2.141,"severity":"medium","skipped":[]}','2026-12-01T10:17:07.024107Z');
INSERT INTO "run_rules" VALUES('run1_nlyqnapemzxthrfefjc2xjhhma','negative','done','{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":1,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"condition":1},"groups":1,"groups_before":[],"in_words":["1 failing record"],"money":{"EUR":"3.00"},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.475,"severity":"medium","skipped":[]}','2026-12-01T10:17:07.603609Z');
INSERT INTO "run_rules" VALUES('run1_uznttqchrzm64cbboz2ocmrztq','twins','done','{"cleaning":{"binding":"92ffbbcac0c09ab11a6ff03191cc2e6532a72b1a68d60ba239f93b5c63340652","cleaned":0,"failed":0,"proposed":0,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":1,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":2},"first_run":false,"groups":3,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":7,"seconds":0.58,"severity":"medium","skipped":[]}','2026-12-01T10:17:25.428659Z');
INSERT INTO "run_rules" VALUES('run1_uznttqchrzm64cbboz2ocmrztq','persons','done','{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":4,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":0},"first_run":false,"groups":4,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.197,"severity":"medium","skipped":[]}','2026-12-01T10:17:22.127899Z');
INSERT INTO "run_rules" VALUES('run1_uznttqchrzm64cbboz2ocmrztq','paid','done','{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-106.00"},"currency":"EUR","explained":"-77.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"137.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":2,"merged":0,"new":1,"reopened":0,"resolved":1,"settled":1},"first_run":false,"forms":{"mismatch":1,"right_only":2},"groups":4,"groups_before":[4],"in_words":["2 missing in orders","1 mismatch"],"matched":2,"money":{"EUR":"107.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":1.427,"severity":"medium","skipped":[]}','2026-12-01T10:17:23.673131Z');
INSERT INTO "run_rules" VALUES('run1_uznttqchrzm64cbboz2ocmrztq','negative','done','{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":0,"reopened":0,"resolved":1,"settled":0},"first_run":false,"groups":0,"groups_before":[1],"money":{},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.295,"severity":"medium","skipped":[]}','2026-12-01T10:17:24.195860Z');
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
INSERT INTO "runs" VALUES('run1_nlyqnapemzxthrfefjc2xjhhma','nightly','2026-12-01T10:16:57.654960Z','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','manual','succeeded',1,1,'2026-12-01T10:17:01.742338Z','2026-12-01T10:17:10.218316Z','{"attempt":1,"checked":["twins","persons","paid","negative"],"job":"nightly","messages":["msg1_f6303186449d24afe7444364"],"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":[{"cleaning":{"binding":"92ffbbcac0c09ab11a6ff03191cc2e6532a72b1a68d60ba239f93b5c63340652","cleaned":0,"failed":0,"proposed":4,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":8,"seconds":1.258,"severity":"medium","skipped":[]},{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"groups":4,"groups_before":[],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":1.246,"severity":"medium","skipped":[]},{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-4.00"},"currency":"EUR","explained":"24.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"35.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":4,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"left_only":1,"mismatch":1,"right_only":2},"groups":4,"groups_before":[],"in_words":["2 missing in orders","1 missing in charges","1 mismatch"],"matched":2,"money":{"EUR":"41.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":2.141,"severity":"medium","skipped":[]},{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":1,"reopened":0,"resolved":0,"settled":0},"first_run":true,"forms":{"condition":1},"groups":1,"groups_before":[],"in_words":["1 failing record"],"money":{"EUR":"3.00"},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.475,"severity":"medium","skipped":[]}],"run":"run1_nlyqnapemzxthrfefjc2xjhhma","slot":"2026-12-01T10:16:57.654960Z","status":"succeeded"}');
INSERT INTO "runs" VALUES('run1_uznttqchrzm64cbboz2ocmrztq','nightly','2026-12-01T10:17:20.892994Z','d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f','manual','succeeded',1,2,'2026-12-01T10:17:20.965460Z','2026-12-01T10:17:25.450467Z','{"attempt":1,"checked":["twins","persons","paid","negative"],"job":"nightly","messages":["msg1_e4877ce26c317113b8131be8"],"release":"d3f1384c4bde82244fff9a597196d02b1c51dcf812fe66371c2706219fdbc32f","rules":[{"cleaning":{"binding":"92ffbbcac0c09ab11a6ff03191cc2e6532a72b1a68d60ba239f93b5c63340652","cleaned":0,"failed":0,"proposed":0,"quarantined":0,"stale":0,"waiting":0},"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":1,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":2},"first_run":false,"groups":3,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"twins","scanned":7,"seconds":0.58,"severity":"medium","skipped":[]},{"dataset":"customers","edited":false,"engine":"pushdown","findings":{"grown":0,"known":4,"merged":0,"new":0,"reopened":0,"resolved":0,"settled":0},"first_run":false,"groups":4,"groups_before":[4],"money":{},"read":8,"reason":"source ''shop'' compares these columns exactly as DuckDB does","rule":"persons","scanned":8,"seconds":0.197,"severity":"medium","skipped":[]},{"balance":[{"by_form":{"left_only":"30.00","mismatch":"-1.50","right_only":"-106.00"},"currency":"EUR","explained":"-77.50","left":"60.00","matched":"0.00","not_yet_due":"0","right":"137.50"}],"dataset":"orders","datasets":["orders","charges"],"differing":{"total / amount":1},"edited":false,"engine":"embedded","findings":{"grown":0,"known":2,"merged":0,"new":1,"reopened":0,"resolved":1,"settled":1},"first_run":false,"forms":{"mismatch":1,"right_only":2},"groups":4,"groups_before":[4],"in_words":["2 missing in orders","1 mismatch"],"matched":2,"money":{"EUR":"107.50"},"read":7,"read_of":{"charges":4,"orders":3},"reason":"SQLite does not compare `total` exactly as Reconcile does","rule":"paid","scanned":7,"scanned_of":{"charges":4,"orders":3},"seconds":1.427,"severity":"medium","skipped":[]},{"dataset":"charges","edited":false,"engine":"embedded","findings":{"grown":0,"known":0,"merged":0,"new":0,"reopened":0,"resolved":1,"settled":0},"first_run":false,"groups":0,"groups_before":[1],"money":{},"read":4,"reason":"SQLite does not compare `amount` exactly as Reconcile does","rule":"negative","scanned":4,"seconds":0.295,"severity":"medium","skipped":[]}],"run":"run1_uznttqchrzm64cbboz2ocmrztq","slot":"2026-12-01T10:17:20.892994Z","status":"succeeded"}');
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
INSERT INTO "targets" VALUES('sqlite:65024:2147189:/tmp/tmpheyzhj1c/shop.db','shop',3,3,'2026-12-01T10:17:14.385223Z','2026-12-01T10:17:17.972943Z');
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
INSERT INTO "users" VALUES('ada','operator','$argon2id$v=19$m=65536,t=3,p=4$eQi2QUaCGgkfh15grtUwPw$6Mwjw4uf3RQBTZR7pH4NTE1/MBjIFdDuM39v8HEGD/A',0,NULL,'2026-12-01T10:17:19.918282Z');
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
CREATE INDEX ix_uncertain_pairs_rule ON uncertain_pairs (rule);
CREATE INDEX ix_presses_status_next_at ON presses (status, next_at);
CREATE INDEX ix_presses_received_at ON presses (received_at);
CREATE INDEX ix_keyed_requests_received_at ON keyed_requests (received_at);
CREATE INDEX ix_audit_subject ON audit (subject);
CREATE INDEX ix_attempts_since ON attempts (since);
CREATE INDEX ix_runs_job_started ON runs (job, started);
CREATE INDEX ix_runs_job_status_fence ON runs (job, status, fence);
CREATE INDEX ix_runs_started ON runs (started);
CREATE INDEX ix_audit_bodies_run ON audit_bodies (run);
CREATE INDEX ix_audit_bodies_finding ON audit_bodies (finding);
CREATE INDEX ix_tokens_user ON tokens (user);
CREATE INDEX ix_sessions_ends_at ON sessions (ends_at);
CREATE INDEX ix_sessions_user ON sessions (user);
CREATE INDEX ix_dataset_stats_dataset_rule_at ON dataset_stats (dataset, rule, at);
CREATE INDEX ix_findings_state_severity_amount_rank_first_seen_id ON findings (state, severity, amount_rank, first_seen, id);
CREATE INDEX ix_findings_rule_state_severity_amount_rank_first_seen_id ON findings (rule, state, severity, amount_rank, first_seen, id);
CREATE INDEX ix_findings_assigned_to ON findings (assigned_to);
CREATE INDEX ix_findings_fingerprint ON findings (fingerprint);
CREATE INDEX ix_findings_state_probability_first_seen_id ON findings (state, probability, first_seen, id) WHERE probability IS NOT NULL;
CREATE INDEX ix_anchors_status_next_at ON anchors (status, next_at);
CREATE INDEX ix_outbox_status_next_at ON outbox (status, next_at);
CREATE INDEX ix_outbox_run ON outbox (run);
CREATE INDEX ix_finding_aliases_finding ON finding_aliases (finding);
CREATE INDEX ix_finding_members_record ON finding_members (record);
CREATE INDEX ix_not_same_finding ON not_same (finding);
CREATE INDEX ix_not_same_rule_record_b ON not_same (rule, record_b);
CREATE INDEX ix_plans_finding ON plans (finding);
CREATE INDEX ix_plans_undoes ON plans (undoes);
CREATE INDEX ix_plans_state_source_next_at_id ON plans (state, source, next_at, id);
CREATE INDEX ix_plans_rule_state ON plans (rule, state);
CREATE INDEX ix_plans_run ON plans (run);
CREATE INDEX ix_shown_findings_finding ON shown_findings (finding);
CREATE INDEX ix_effects_plan ON effects ("plan");
CREATE INDEX ix_effects_record_target_effect ON effects (record, target, effect);
CREATE INDEX ix_effects_ended_at ON effects (ended_at);
CREATE INDEX ix_holds_plan ON holds ("plan");
CREATE INDEX ix_approvals_plan_hash ON approvals (plan_hash);
CREATE INDEX ix_limit_uses_rule_at ON limit_uses (rule, at);
CREATE INDEX ix_limit_uses_run_rule ON limit_uses (run, rule);
CREATE INDEX ix_limit_uses_target_at ON limit_uses (target, at);
COMMIT;
