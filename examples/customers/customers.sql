-- Two programs made customers here, a shop and a CRM, so that some people stand twice.
create table customers (
    id integer primary key,
    email text not null,
    name text not null,
    phone text,
    street text,
    city text,
    tags text,
    source text not null,
    status text not null default 'active',
    merged_into integer,
    updated_at datetime not null
);
create table orders (
    id integer primary key,
    customer_id integer not null references customers (id) on delete cascade,
    placed_on date not null
);
create table newsletters (
    customer_id integer not null references customers (id),
    topic text not null,
    primary key (customer_id, topic)
);
create table notes (id integer primary key, about integer, said text not null); -- `about` is a customer, as everybody knows

insert into customers (id, email, name, phone, street, city, tags, source, updated_at) values
    (1, 'ada@example.com', 'Ada Lovelace', null, '12 St James''s Square', 'London', 'vip', 'shop', '2026-01-05 10:00:00'),
    (2, 'Ada+crm@Example.com', 'A. Lovelace', '+44 20 7946 0001', null, 'Londn', 'press, vip', 'crm', '2026-02-11 09:30:00'),
    (3, 'grace@example.com', 'Grace Hopper', '+1 202 555 0137', '1 Navy Yard', 'Washington', null, 'crm', '2026-01-20 16:00:00'),
    (4, 'grace@example.com', 'Grace Hopper', '+1 202 555 0199', null, null, 'speaker', 'shop', '2026-03-01 08:15:00'),
    (5, 'alan@example.com', 'Alan Turing', null, null, 'Wilmslow', null, 'shop', '2026-02-02 12:00:00');
insert into orders values (1, 1, '2026-01-06'), (2, 2, '2026-02-12'), (3, 4, '2026-03-01'), (4, 5, '2026-02-03');
insert into newsletters values (1, 'weekly'), (2, 'weekly'), (4, 'offers');
insert into notes values (1, 1, 'asked for an invoice'), (2, 3, 'prefers the telephone');
