create table kb_article (
    id integer primary key,
    author text not null,
    status text not null check (status in ('published', 'draft', 'archived')),
    title text not null,
    body text not null,
    revision integer not null default 1
);

insert into kb_article (id, author, status, title, body) values
(1, 'sam', 'published', 'Refunds',
 'A refund reaches the customer within five working days. It goes back to the card that paid.'),
(2, 'sam', 'draft', 'Refunds over 500 euros',
 'From May on, refunds over 500 euros need a second signature and take ten working days. Not announced yet.'),
(3, 'kim', 'published', 'Opening hours',
 'The help desk answers from eight to six on weekdays.'),
(4, 'kim', 'draft', 'Opening hours in summer',
 'In July and August the help desk may close at four. The works council decides in June.'),
(5, 'kim', 'archived', 'Refunds before 2020',
 'Refunds were paid by cheque.');
