"""`name`, `nickname`, `company`, `address` and `translit: latin`: what is equal, and what stays different."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.document.mistakes import RuleError
from rules.models import Step
from rules.normalise import chain_type, normalise, person
from rules.normalise.company import has_legal_form
from rules.normalise.vocabulary import forms, listed, sections
from rules.normalise.words import in_words
from rules.values import Type

ORDER_FREE = ("name", "nickname", "company", "address")


def after(text: str, *names: str) -> str | None:
    value = normalise(text, tuple(Step(name=name) for name in names))
    assert value is None or isinstance(value, str)
    return value


def latin(text: str) -> str | None:
    value = normalise(text, (Step(name="translit", argument="latin"),))
    assert value is None or isinstance(value, str)
    return value


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("name", ["Lee, Ann", "ann  LEE", "Dr. Ann Lee", "Lee, Prof. Dr. Ann", "Ann Lee, Ph.D.", "Mrs Ann Lee"]),
        ("name", ["John Smith", "Smith, John M.D.", "Sir John Smith, O.B.E.", "John Smith Jr.", "JOHN SMITH III"]),
        ("name", ["Ann-Marie O'Neil", "ONEIL Ann Marie", "O’Neil, Ann-Marie"]),
        ("name", ["Dr. med. Jörg Groß", "Herr Jorg Gross", "Dr. rer. nat. habil. JÖRG GROSS", "Dipl.-Ing. Jörg Groß"]),
        ("name", ["M.D. Smith", "M. D. Smith", "Smith, M.D.", "Smith M D"]),
        ("name", ["Don Smith", "Smith, Don"]),
        ("name", ["Carlos Ruiz", "Don Carlos Ruiz", "Sr. Carlos Ruiz", "Señor D'on Carlos Ruiz"]),
        ("name", ["Mme Zoë Lefèvre", "Mademoiselle Zoe LEFEVRE"]),
        ("name", ["Dott.ssa Maria Rossi", "Sig.ra Rossi Maria", "Avv. Maria Rossi"]),
        ("name", ["Jan van den Berg", "Berg, Jan van den", "Dhr. Jan van den Berg"]),
        ("name", ["inż. Łukasz Żak", "pan Lukasz Zak", "mgr inż. Łukasz Żak"]),
        ("name", ["Fru Åse Ødegård", "Ase Odegard"]),
        ("name", ["Dra. Ana João", "ANA JOÃO"]),
        ("name", ["Ｊｕｌｉａ　Ｒｏｙ", "Julia\u200b Roy"]),
        ("nickname", ["Bob Smith", "Robert Smith", "Smith, Mr. Robbie"]),
        ("nickname", ["Katie Lee", "Lee, Catherine", "Katherine Lee", "kathryn lee"]),
        ("nickname", ["Sepp Huber", "Josef Huber"]),
        ("nickname", ["Gosia Nowak", "Małgorzata Nowak"]),
        ("nickname", ["Beppe Verdi", "Giuseppe Verdi"]),
        (
            "company",
            ["The Acme Tools Company", "Acme Tools Co.", "ACME TOOLS, L.L.C.", "Acme Tools Pty Ltd", "Acme Tools"],
        ),
        ("company", ["Müller GmbH & Co. KG", "MULLER GMBH + CO KG", "Müller G.m.b.H.", "Müller mbH"]),
        ("company", ["Gebr. Müller AG", "Gebrüder Müller OHG", "Gebrueder Muller"]),
        ("company", ["Smith & Sons Ltd", "Sons and Smith Limited", "Smith et Sons SARL", "Smith und Sons e.K."]),
        ("company", ["Dupont S.A.", "DUPONT SA", "Société Anonyme Dupont", "Dupont S. A. R. L.", "Dupont et Cie"]),
        ("company", ["Hijos y Nietos S.L.", "Nietos & Hijos, S.A. de C.V.", "Hijos Nietos SLU"]),
        ("company", ["Rossi S.p.A.", "Rossi S.r.l.", "Rossi società per azioni"]),
        ("company", ["Jansen B.V.", "Jansen N.V.", "Jansen besloten vennootschap"]),
        ("company", ["Nowak Sp. z o.o.", "Nowak sp.z o.o. sp. k.", "NOWAK Spółka z o. o.", "Nowak S.A."]),
        ("company", ["Møller A/S", "Moller ApS", "Møller AB", "Møller Oy", "Møller ASA"]),
        ("company", ["Silva Ltda.", "Silva Lda", "Silva S/A"]),
        ("company", ["PT Astra Tbk", "Astra"]),
        ("company", ["ООО Ромашка", "РОМАШКА ЗАО"]),
        ("company", ["トヨタ自動車株式会社", "トヨタ自動車"]),
        ("company", ["H&M", "H & M", "H. und M.", "HM"]),
        ("company", ["Smith Bros. Intl. Mfg. Inc.", "Smith Brothers International Manufacturing"]),
        ("company", ["McDonald's Corp.", "McDonalds"]),
        ("address", ["12 Main Street", "Main St. 12", "12, main st", "MAIN STREET, 12"]),
        ("address", ["12a Main St", "12 A Main St", "Main Street 12-A", "Main Street, 12 a"]),
        (
            "address",
            ["12 N. Main St Apt. 4", "12 North Main Street #4", "Unit 4, 12 N Main St", "12 N Main St Suite No. 4"],
        ),
        ("address", ["5th Ave. 350", "350 Fifth Avenue"]),
        ("address", ["P.O. Box 12", "PO Box 12", "Post Office Box 12", "Postfach 12", "P O BOX 12"]),
        ("address", ["St. John's Road 3", "3 St Johns Rd", "Saint Johns Road, No. 3"]),
        ("address", ["10 Downing St, London SW1A 2AA", "10 Downing Street London SW1A2AA"]),
        ("address", ["Hauptstraße 12 a", "Hauptstr. 12a", "Haupt-Str. 12 A", "HAUPTSTRASSE 12A"]),
        ("address", ["Lindenplatz 12-14", "Linden Pl. 12 – 14"]),
        ("address", ["12, rue de l'Église", "12 Rue de lEglise", "r. de l’église 12"]),
        ("address", ["Bd. Victor-Hugo 3", "3 boulevard Victor Hugo"]),
        ("address", ["C/ Mayor, 5", "Calle Mayor nº 5", "c/Mayor 5"]),
        ("address", ["Avda. Brasil 100", "Avenida Brasil, 100", "Av. Brasil n° 100"]),
        ("address", ["R. Augusta, 9", "Rua Augusta 9"]),
        ("address", ["V.le Roma 5", "Viale Roma, 5"]),
        ("address", ["Pza. Navona 1", "Piazza Navona 1"]),
        ("address", ["Kerkstraat 1, 1012AB Amsterdam", "Kerkstr. 1 1012 AB Amsterdam"]),
        ("address", ["ul. Długa 5", "ulica Dluga 5", "Długa 5"]),
        ("address", ["al. Jana 7 lok. 3", "Aleja Jana 7 lokal 3"]),
        ("address", ["Storgatan 5", "Stor Gata 5"]),
        ("address", ["Nørrevej 5", "Norre Vej 5"]),
    ],
)
def test_one_thing_written_differently_is_equal(name: str, texts: list[str]) -> None:
    assert len({after(text, name) for text in texts}) == 1, [after(text, name) for text in texts]


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("name", ["Ann Lee", "Anna Lee", "Anne Lee", "A Lee", "Ann Leigh"]),
        ("name", ["Bob Smith", "Robert Smith", "Rob Smith"]),
        ("name", ["Jan van den Berg", "Jan Berg"]),
        ("name", ["Yo-Yo Ma", "Yo Yo"]),
        ("name", ["Jan Meier", "Jan Meyer", "Jan Jan Meier"]),
        ("nickname", ["Alex Lee", "Alexander Lee", "Alexandra Lee", "Sam Lee", "Samuel Lee", "Samantha Lee"]),
        ("nickname", ["Chris Lee", "Christopher Lee", "Christine Lee", "Ann Lee", "Anna Lee"]),
        ("company", ["Meier GmbH", "Meyer GmbH"]),
        ("company", ["SAS Institute Inc.", "Institute Inc."]),
        ("company", ["AB Foods plc", "Foods plc", "Foods International plc", "Foods Group plc"]),
        ("company", ["Johnson & Johnson", "Johnson"]),
        ("company", ["3 Suisses", "2 Suisses"]),
        ("company", ["GmbH", "AG", "Ltd"]),
        ("address", ["Main Street 12", "Main Street 21", "Main Street 12a", "Main Street 1", "Main Street 2"]),
        ("address", ["Park Avenue", "Park Street", "Park Road", "Park Square"]),
        ("address", ["12 North Main St", "12 South Main St", "12 Main St"]),
        ("address", ["12 5th Ave", "5 12th Ave"]),
        ("address", ["12 Main St Apt 4", "4 Main St Apt 12", "12 Main St"]),
        ("address", ["Hauptstr. 12-14", "Hauptstr. 12", "Hauptstr. 12/14", "Hauptstr. 14"]),
        ("address", ["12 Main St 62701", "12 Main St 62702"]),
        ("address", ["12 E Main St", "12e Main St"]),
        ("address", ["Lindenweg 1", "Lindenplatz 1", "Lindenstr. 1"]),
    ],
)
def test_different_things_stay_different(name: str, texts: list[str]) -> None:
    assert len({after(text, name) for text in texts}) == len(texts), [after(text, name) for text in texts]


@pytest.mark.parametrize(
    ("name", "text"), [("name", "Dr."), ("name", "Frau"), ("company", "The Company"), ("company", "GmbH"),
                       ("address", "Apt."), ("address", "No."), ("nickname", "Mr")],
)  # fmt: skip
def test_words_that_are_dropped_stay_if_there_are_no_others(name: str, text: str) -> None:
    assert after(text, name)


def test_a_text_without_letters_and_numbers_is_null() -> None:
    assert {after(text, name) for name in ORDER_FREE for text in ("-", "'", "., &", "\u200b", "😀")} == {None}


def vocabulary(name: str) -> st.SearchStrategy[str]:
    """Texts of the words that a normaliser knows, and others, with signs between."""
    lists = {"name": "names", "nickname": "names", "company": "companies", "address": "addresses"}
    lines = [words for section in sections(lists[name]).values() for _, words in section]
    vocabulary_words = [word for words in lines for word in words] + [
        "bob",
        "alex",
        "main",
        "zoo",
        "12",
        "5th",
        "14b",
        "1a",
        "sw1a1aa",
    ]
    words = st.sampled_from(vocabulary_words) | st.sampled_from(["कि", *"abeinsyzéßй北한17"])
    return st.lists(
        st.tuples(words, st.sampled_from([" ", " ", ". ", ", ", ".", "-", "/", " & ", "'", " #"])), max_size=6
    ).map(lambda parts: "".join(word + sign for word, sign in parts))


@pytest.mark.parametrize("name", ORDER_FREE)
@given(data=st.data())
def test_a_second_time_changes_nothing(name: str, data: st.DataObject) -> None:
    text = data.draw(vocabulary(name) | st.text(max_size=12))

    value = after(text, name)

    assert value == (after(value, name) if value else None)
    assert value is None or re.fullmatch(r"\S+( \S+)*", value)


@pytest.mark.parametrize("name", ORDER_FREE)
@given(data=st.data())
def test_words_are_equal_in_any_order_and_case(name: str, data: st.DataObject) -> None:
    words = data.draw(st.lists(st.sampled_from(["ann", "bob", "main", "müller", "zoo", "12", "йод", "कि"]), min_size=1))
    order = data.draw(st.permutations(words))

    assert after(" ".join(words), name) == after(
        " - ".join(order).upper() if name != "address" else " ".join(order), name
    )


def test_a_short_form_belongs_to_one_given_name() -> None:
    given = person.nicknames()

    assert given["bob"] == "robert"
    assert not {"alex", "sam", "chris", "pat", "kim", "sasha", "robert"} & given.keys()
    assert not set(given.values()) & given.keys()


@pytest.mark.parametrize("name", ["names", "companies", "addresses", "nicknames"])
def test_the_lists_of_words_are_folded_and_without_contradiction(name: str) -> None:
    for section, lines in sections(name).items():
        words = Counter(word for _, listed_words in lines for word in listed_words)
        written = {word for word in words if word != word.lower() or not word}
        twice = {word for word, times in words.items() if times > 1 and name != "nicknames"}
        assert not written | twice, (section, written, twice)
        assert not {form for form, _ in lines if section in ("words", "directions")} & words.keys(), section


def test_no_form_of_a_word_is_itself_dropped() -> None:
    dropped = listed("companies", "anywhere") | listed("companies", "front")
    units = listed("addresses", "dropped") | listed("addresses", "units")

    end = listed("companies", "end")
    assert not set(forms("companies", "words").values()) & dropped
    assert all((word in end) == (form in end) for word, form in forms("companies", "words").items())
    assert not {*forms("addresses", "words"), *forms("addresses", "words").values()} & units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Юлия Щербакова", "Yuliya Shcherbakova"),
        ("Зеленський", "Zelenskiy"),
        ("Παπαδόπουλος Άγγελος Ευαγγέλου", "Papadopoulos Angelos Evangelou"),
        ("Łódź, Straße, Åse, İstanbul", "Lodz, Strasse, Ase, Istanbul"),
        ("Nguyễn Văn Đức", "Nguyen Van Duc"),
        ("北京", "BeiJing"),
        ("서울", "SeoUl"),
        ("علي", "ly"),
        ("1 £ 😀", "1 £ 😀"),
        ("ъ", "ъ"),
    ],
)
def test_all_scripts_have_latin_letters(text: str, expected: str) -> None:
    assert latin(text) == expected


@given(st.text(max_size=12))
def test_latin_letters_stay_and_nothing_becomes_null(text: str) -> None:
    value = latin(text)

    assert value == (latin(value) if value else None)
    assert (value is None) == (normalise(text, ()) is None or not text.strip())


def test_a_name_in_other_letters_is_equal_after_transliteration() -> None:
    steps = (Step(name="translit", argument="latin"), Step(name="name"))

    assert normalise("Щербакова, Юлия", steps) == normalise("Yuliya Shcherbakova", steps)


def test_people_read_how_names_are_compared() -> None:
    assert in_words((Step(name="company"),)).startswith("as a company's name: words in any order, without legal forms")
    assert in_words((Step(name="translit", argument="latin"), Step(name="trim"))).startswith("in plain Latin letters, ")
    assert in_words((Step(name="translit", argument="de"),)) == "with ä, ö, ü and ß as ae, oe, ue and ss"


@pytest.mark.parametrize("name", ORDER_FREE)
def test_a_step_that_changes_sorted_words_is_refused(name: str) -> None:
    with pytest.raises(RuleError, match=f"`translit` changes words that `{name}` has already sorted"):
        chain_type(Type.TEXT, (Step(name=name), Step(name="translit", argument="latin")))


def test_a_name_can_stand_for_every_given_name_that_it_is_a_form_of() -> None:
    forms_of = person.namesakes()

    assert {"alexander", "alexandra"} <= forms_of["alex"]
    assert forms_of["bob"] & forms_of["robert"] & forms_of["rob"]
    assert not forms_of["bob"] & forms_of["bill"]
    assert all(form in forms_of[form] for forms in forms_of.values() for form in forms)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Müller & Söhne GmbH", True), ("Varga Kft.", True), ("Acme, Inc", True), ("Ann Brown", False), ("Ltd", False)],
)
def test_a_legal_form_is_seen_at_the_end_of_a_name(text: str, expected: bool) -> None:
    assert has_legal_form(text) is expected
