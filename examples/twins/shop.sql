create table customers (
  id integer primary key,
  full_name text not null,
  customer_email text,
  registered date not null,
  status text not null
);
insert into customers values
  (1, 'ada lovelace', 'ada+shop@example.com', '2025-01-04', 'open'),
  (2, 'Grace  Hopper', 'gracehopper@googlemail.com', '2025-02-11', 'open'),
  (3, 'Alan Turing', 'alan@example.org', '2025-02-20', 'closed'),
  (4, 'Kim Petersen', 'petersen@example.net', '2025-03-01', 'open'),
  (5, 'Mary Jackson', 'mary@example.org', '2025-03-09', 'open'),
  (6, 'Mary Jackson', 'mary@example.org', '2025-04-01', 'open');
