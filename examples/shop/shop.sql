create table charges (
    id text primary key,
    order_id text not null,
    amount text not null,
    currency text not null,
    charged_at text not null,
    status text not null
);
insert into charges values
    ('ch_1', '1001', '49.00', 'EUR', '2026-03-02T09:00:00Z', 'succeeded'),
    ('ch_2', '1001', '49.00', 'EUR', '2026-03-02T09:00:31Z', 'succeeded'),
    ('ch_3', '1002', '9.90',  'GBP', '2026-03-02T10:15:00Z', 'succeeded'),
    ('ch_4', '1002', '9.90',  'GBP', '2026-03-02T10:20:00Z', 'succeeded'),
    ('ch_5', '1003', '20.00', 'EUR', '2026-03-02T11:00:00Z', 'succeeded'),
    ('ch_6', '1003', '20.00', 'EUR', '2026-03-02T12:00:00Z', 'succeeded'),
    ('ch_7', '1004', '35.00', 'EUR', '2026-03-02T12:30:00Z', 'failed');
