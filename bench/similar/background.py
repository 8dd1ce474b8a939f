"""Made-up records that look like real ones: persons with households, contacts, companies, products and addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta

import numpy as np

Record = dict[str, str | None]


def _words(text: str) -> list[str]:
    return text.split()


NICKNAMES = {
    "William": "Bill", "Robert": "Bob", "Elizabeth": "Liz", "Margaret": "Peggy", "Richard": "Dick", "James": "Jim",
    "Katherine": "Kate", "Thomas": "Tom", "Michael": "Mike", "Christopher": "Chris", "Alexander": "Sasha",
    "Anthony": "Tony", "Edward": "Ted", "Charles": "Chuck", "Susan": "Sue", "Deborah": "Debbie", "Rebecca": "Becky",
    "Johannes": "Hans", "Josef": "Sepp", "Friedrich": "Fritz", "Heinrich": "Heinz", "Sebastian": "Basti",
    "Francisco": "Paco", "Guadalupe": "Lupe", "Giuseppe": "Beppe", "Frederick": "Fred",
}  # fmt: skip
GIVEN = [
    *NICKNAMES, "Anna", "Maria", "Peter", "Laura", "Jonas", "Sophie", "Lukas", "Emma", "Daniel", "Julia", "Martin",
    "Claudia", "Stefan", "Petra", "Andreas", "Monika", "Jürgen", "Käthe", "Björn", "Zoë", "René", "André", "Søren",
    "Ingrid", "Olga", "Dmitri", "Yuki", "Mehmet", "Fatma", "Ahmed", "Leila", "Rahul", "Priya", "Wei", "Chen", "Minh",
    "Carlos", "Lucía", "Paulo", "Beatriz", "Marco", "Giulia", "Pierre", "Camille", "Piotr", "Agnieszka", "Ewa", "Jan",
]  # fmt: skip
_ROOTS = _words(
    "Acker Berg Brand Büch Eich Feld Fisch Grün Hart Hoff Jäger Kamp Kirch Klein Krüg Lind Mohr Müll Neu Ost Pfeif "
    "Rau Reich Rosen Schön Schwarz Sieg Stein Stroh Thal Uhl Vog Wald Weiß Winter Wolf Zieg Ander Carl Erik Harr John "
    "Morr Rob Stev Thomp Will Nowak Kowal Petr Ivan Castell Ferr Moren Ross Silv"
)
_ENDINGS = ("er", "mann", "hof", "bach", "stein", "meier", "ing", "son", "sen", "ski", "ov", "ini", "ez", "dorf", "au")
SURNAMES = [root + ending for ending in _ENDINGS for root in _ROOTS]
CITIES = _words(
    "Berlin Hamburg München Köln Frankfurt Stuttgart Düsseldorf Leipzig Dortmund Essen Bremen Dresden Hannover "
    "Nürnberg Duisburg Bochum Wuppertal Bielefeld Bonn Münster Mannheim Karlsruhe Augsburg Wiesbaden Kiel Chemnitz "
    "Aachen Halle Magdeburg Freiburg Krefeld Lübeck Mainz Erfurt Rostock Kassel Hagen Potsdam Saarbrücken Oldenburg "
    "London Leeds Bristol Cardiff Glasgow Dublin Boston Chicago Denver Austin Seattle Portland Lyon Nantes Porto"
)
_STREETS = _words(
    "Garten Linden Bahnhof Schiller Goethe Mozart Wiesen Kirch Berg Mühlen Rosen Birken Ring Park Wald Schul Haupt "
    "Ost West Buchen Ahorn Tannen Ulmen Kastanien Burg Schloss Markt Brücken Ufer Quellen Sonnen Hügel"
)
STREET_TYPES = {"straße": "str.", "allee": "al.", "weg": "weg", "platz": "pl.", "gasse": "g."}
LEGAL_FORMS = ("GmbH", "AG", "Ltd", "Inc.", "GmbH & Co. KG", "S.A.", "LLC", "B.V.")
ROLES = ("info", "office", "sales", "kontakt", "einkauf", "contact", "billing", "hello")
TRADES = _words(
    "Software Logistics Manufacturing International Services Technologies Engineering Foods Trading Systems "
    "Consulting Pharmaceuticals Textiles Machinery Packaging Electronics Solutions Partners Motors Instruments"
)
ABBREVIATIONS = {
    "Manufacturing": "Mfg", "International": "Intl", "Services": "Svcs", "Technologies": "Tech", "Engineering": "Eng.",
    "Systems": "Sys.", "Pharmaceuticals": "Pharma", "Electronics": "Elec.", "Logistics": "Log.", "Consulting": "Cons.",
    "Black": "Blk", "White": "Wht", "Silver": "Slv", "Wireless": "WL", "Stainless": "SS", "Portable": "Port.",
}  # fmt: skip
_BRANDS = _words("Sonora Belkor Netgard Panavox Kenmark Bosten Philor Samtec Canyon Linkway Garmont Yamora")
_THINGS = _words(
    "Headphones Speaker Router Monitor Keyboard Camera Printer Dishwasher Toaster Vacuum Charger Projector Drill Kettle"
)
_FEATURES = _words("Wireless Portable Digital Stainless Compact Professional Bluetooth Ergonomic Cordless Dual")
_COLOURS = _words("Black White Silver Red Blue Grey")
_DOMAINS = _words("example.com mail.example post.example example.org web.example inbox.example office.example")

TYPES: Mapping[str, Mapping[str, str]] = {
    "persons": {
        "given_name": "given_name",
        "surname": "surname",
        "birth_date": "date",
        "email": "email",
        "phone": "phone",
        "address": "address",
        "postcode": "postcode",
        "city": "city",
    },
    "contacts": {"name": "name", "email": "email", "phone": "phone", "city": "city"},
    "companies": {
        "name": "company",
        "address": "address",
        "postcode": "postcode",
        "city": "city",
        "phone": "phone",
    },
    "products": {"title": "product", "price": "amount"},
    "addresses": {"address": "address", "postcode": "postcode", "city": "city"},
    "colleagues": {"name": "name", "company": "company", "email": "email", "phone": "phone", "city": "city"},
}
"""The compared columns of each kind of record."""
_HOUSEHOLDS = 0.15
"""The share of persons that share a surname, an address and a phone with the person before them."""


_OF_SENIORS = "07"
"""The phones of persons, a hundredth of all, whose surnames end in Sr."""


class Background:
    """Records of one kind after another; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self._addresses: set[str] = set()

    def records(self, kind: str) -> Iterator[Record]:
        """Yield records of a kind without end."""
        if kind == "persons":
            yield from self._persons()
        if kind == "colleagues":
            yield from self._colleagues()
        maker = {"contacts": self.contact, "companies": self.company, "products": self.product}.get(kind, self.place)
        while True:
            yield maker()

    def pick(self, values: list[str] | tuple[str, ...], power: float = 0.0) -> str:
        """Return one of some values; with a power, the first ones are more common."""
        if not power:
            return values[int(self.generator.integers(len(values)))]
        shares = 1 / np.arange(1, len(values) + 1) ** power
        return values[int(self.generator.choice(len(values), p=shares / shares.sum()))]

    def digits(self, count: int) -> str:
        return "".join(str(digit) for digit in self.generator.integers(0, 10, count))

    def surname(self) -> str:
        return self.pick(SURNAMES, 0.6)

    def phone(self) -> str:
        return f"+49 {self.generator.integers(20, 99)} {self.generator.integers(2, 10)}{self.digits(6)}"

    def email(self, given: str, surname: str) -> str:
        """Return an address that nobody else has."""
        begin = self.pick((f"{given}.{surname}", f"{given[0]}.{surname}", f"{given}{self.digits(2)}", surname), 0.4)
        address = f"{begin}@{self.pick(_DOMAINS)}".lower().replace(" ", "")
        while address in self._addresses:
            address = address.replace("@", f"{self.digits(1)}@")
        self._addresses.add(address)
        return address

    def place(self) -> Record:
        number = int(self.generator.integers(len(CITIES)))
        street = f"{self.pick(_STREETS)}{self.pick(tuple(STREET_TYPES))}"
        return {
            "address": f"{street} {self.generator.integers(1, 200)}",
            "postcode": f"{10 + number}{self.digits(3)}",
            "city": CITIES[number],
        }

    def _persons(self) -> Iterator[Record]:
        previous: Record | None = None
        while True:
            person = self.person()
            if previous and self.generator.random() < _HOUSEHOLDS:
                shared = {name: previous[name] for name in ("surname", "address", "postcode", "city", "phone")}
                person = person | shared
                person["email"] = self.email(str(person["given_name"]), str(person["surname"]))
            previous = person
            is_senior = str(person["phone"]).endswith(_OF_SENIORS)
            yield person | {"surname": f"{person['surname']} Sr."} if is_senior else person

    def _colleagues(self) -> Iterator[Record]:
        """Yield persons of companies: most have an address of their own, the others share one of a role."""
        while True:
            company = self.company()
            words = str(company["name"]).lower().split()
            domain = f"{words[0]}-{words[-2 if len(words) > 2 else -1]}{self.digits(2)}.example"
            role = f"{self.pick(ROLES, 0.8)}@{domain}"
            for _ in range(int(self.generator.integers(1, 5))):
                given, surname = self.pick(GIVEN, 0.3), self.surname()
                own = f"{given}.{surname}@{domain}".lower()
                yield {
                    "name": f"{given} {surname}",
                    "company": company["name"],
                    "email": role if self.generator.random() < 0.3 else own,
                    "phone": company["phone"],
                    "city": company["city"],
                }

    def person(self) -> Record:
        given, surname = self.pick(GIVEN, 0.3), self.surname()
        born = date(1940, 1, 1) + timedelta(days=int(self.generator.integers(65 * 365)))
        return {
            "given_name": given,
            "surname": surname,
            "birth_date": born.isoformat(),
            "email": self.email(given, surname),
            "phone": self.phone(),
            **self.place(),
        }

    def contact(self) -> Record:
        person = self.person()
        name = f"{person['given_name']} {person['surname']}"
        return {"name": name, **{column: person[column] for column in ("email", "phone", "city")}}

    def company(self) -> Record:
        words = [self.surname(), self.pick(TRADES)]
        if self.generator.random() < 0.5:
            words.insert(1, self.pick(TRADES))
        if self.generator.random() < 0.2:
            words[1:1] = ["&", self.surname()]
        return {"name": " ".join([*words, self.pick(LEGAL_FORMS)]), **self.place(), "phone": self.phone()}

    def product(self) -> Record:
        brand, letters = self.pick(_BRANDS), "".join(self.pick(tuple("ABCDEFGHKLMNPRSTX")) for _ in range(2))
        model = f"{letters}-{self.generator.integers(1, 10)}{self.digits(3)}{self.pick(('', 'B', 'XM', 'S'))}"
        words = [brand, self.pick(_FEATURES), self.pick(_THINGS), f"{self.generator.integers(2, 60)} W", model]
        price = 10 ** self.generator.uniform(1, 3)
        return {"title": " ".join([*words, self.pick(_COLOURS)]), "price": f"{price:.2f}"}
