"""Guesses at roles and types: a fixed set of names and profiles in five languages."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from shoal.frame.frame import Frame
from shoal.frame.guess import guess_roles, named_like_identifier

N = 200


def _texts(words):
    return lambda rng: [words[j] for j in rng.integers(0, len(words), N)]


#: What a column holds, made from a seed.
PROFILES = {
    "running": lambda rng: list(range(1, N + 1)),
    "own numbers": lambda rng: rng.permutation(10 * N)[:N] + 100_000,
    "own texts": lambda rng: [f"A{j:05d}" for j in rng.permutation(9999)[:N]],
    "persons": lambda rng: [
        f"{'ABCDEFGHIJ'[j % 10]}nna {'KLMNOPQRST'[j // 10 % 10]}erg {j}" for j in range(N)
    ],
    "mails": lambda rng: [f"user{j // 2}@example.org" for j in range(N)],
    "phones": lambda rng: [f"+49 30 {j // 2:06d}" for j in range(N)],
    "ibans": lambda rng: [f"DE{j % 90 + 10} 3704 0044 0532 0130 {j // 2 % 90 + 10}" for j in range(N)],
    "zips": lambda rng: rng.choice([10115, 20095, 50667, 80331, 90402], N),
    "towns": _texts([f"town {j}" for j in range(20)]),
    "words": _texts(["low", "middle", "high"]),
    "yes no": _texts(["yes", "no"]),
    "days": lambda rng: [f"20{j % 20 + 10}-0{j % 9 + 1}-1{j % 10}" for j in range(N)],
    "free text": lambda rng: [f"remark {j if j > 20 else 1}" for j in range(N)],
    "amounts": lambda rng: np.exp(rng.normal(8, 1, N)),
    "whole amounts": lambda rng: np.exp(rng.normal(8, 1, N)).astype(int),
    "kilograms": lambda rng: rng.normal(75, 12, N).round(1),
    "factors": lambda rng: rng.uniform(0.5, 3.0, N),
    "ages": lambda rng: rng.integers(18, 90, N),
    "codes": lambda rng: rng.integers(1, 5, N),
    "flags": lambda rng: rng.integers(0, 2, N),
    "counts": lambda rng: rng.permutation([j % 6 for j in range(N)]),
    "from one": lambda rng: rng.permutation([j % 7 + 1 for j in range(N)]),
    "years": lambda rng: rng.integers(2015, 2021, N),
    "birth years": lambda rng: rng.integers(1930, 2006, N),
    "one value": lambda rng: np.full(N, 7),
}

#: profile -> role, type -> names.
SET = {
    ("running", "identifier", "integer"): "row obs lfdnr ligne fila riga",
    ("own numbers", "identifier", "integer"): (
        "id ID person_id patientId hhid_nr KundenNr customer_no PersonalNummer numero_id Matrikelnummer "
        "codice_id"
    ),
    ("own texts", "identifier", "nominal"): "ref code_patient Kennung dossier expediente pratica",
    ("persons", "identifier", "nominal"): (
        "name surname last_name Nachname Vorname nom prénom nombre apellido cognome nome customer.name"
    ),
    ("mails", "identifier", "nominal"): "email E-Mail mail courriel correo contact Kontakt contatto",
    ("phones", "identifier", "nominal"): "phone telephone Telefon téléphone teléfono mobile reach_me Handy",
    ("ibans", "identifier", "nominal"): "iban IBAN account Konto compte cuenta conto",
    ("zips", "identifier", "nominal"): "zip ZIP zipcode zip_code postcode PLZ code_postal código_postal CAP",
    ("towns", "quasi", "nominal"): "town city Ort Stadt ville ciudad città municipality",
    ("words", "quasi", "nominal"): "level Stufe niveau nivel livello",
    ("yes no", "quasi", "boolean"): "married verheiratet marié casado sposato",
    ("days", "quasi", "date"): "visited Datum date_visite fecha data",
    ("free text", "other", "nominal"): "remarks Bemerkung remarque",
    (
        "amounts",
        "quasi",
        "continuous",
    ): "turnover Umsatz chiffre_affaires ventas fatturato assets rent Miete loyer",
    ("amounts", "confidential", "continuous"): (
        "income household_income Einkommen Haushaltseinkommen revenu ingresos reddito salary Gehalt salaire "
        "Bruttolohn sueldo net_worth"
    ),
    ("whole amounts", "quasi", "integer"): "profit Kosten coût gasto spesa",
    ("kilograms", "quasi", "continuous"): (
        "wt.loss weight_kg body_weight Körpergewicht birth_weight Gewichtsverlust poids_naissance "
        "peso_corporal"
    ),
    ("factors", "weight", "continuous"): (
        "weight wgt wght WT sample_weight svyweight poids Gewicht Hochrechnungsfaktor pondération peso "
        "peso_campionario fexp"
    ),
    ("ages", "quasi", "integer"): "age Alter âge edad età",
    (
        "ages",
        "confidential",
        "integer",
    ): "survival_months Überlebenszeit survie_mois supervivencia sopravvivenza futime",
    ("codes", "quasi", "nominal"): "sex region Geschlecht sexe sexo sesso educ",
    (
        "codes",
        "confidential",
        "nominal",
    ): "diagnosis Diagnose religion Krankheit Erkrankung maladie enfermedad malattia",
    ("codes", "stratum", "nominal"): "stratum strata Schicht strate estrato",
    (
        "counts",
        "quasi",
        "integer",
    ): "phone_calls address_changes has_email kids n_children Anzahl_Kinder nb_enfants hijos figli ph.ecog",
    ("from one", "quasi", "integer"): "household_size rooms Zimmer num_personas personnes numero_stanze",
    ("years", "quasi", "integer"): "year survey_year Jahr année año anno Erhebungsjahr",
    ("birth years", "quasi", "integer"): "birth_year Geburtsjahr année_naissance",
    ("flags", "quasi", "nominal"): "treated smoker Raucher",
    ("one value", "other", "nominal"): "wave constant",
}
CASES = [(name, *what) for what, names in SET.items() for name in names.split()]


def guessed(columns):
    rng = np.random.default_rng(len(columns))
    return guess_roles(
        Frame(pa.table({n: pa.array(PROFILES[profile](rng)) for n, profile in columns.items()}))
    )


@pytest.mark.parametrize("name", ["num_tel", "num_phone", "n_passport", "used_name", "num_iban"])
def test_a_number_that_names_somebody_is_not_taken_for_a_count(name):
    """`num` stands for numéro and número as well: what is not safe to pass over stays an identifier."""
    assert named_like_identifier(name)


def test_the_set_is_of_at_least_150_columns():
    assert len(set(CASES)) >= 150


@pytest.mark.parametrize(("profile", "role", "kind"), SET)
def test_names_and_profiles(profile, role, kind):
    for name in SET[profile, role, kind].split():
        (guess,) = guessed({name: profile})
        assert (name, guess.role) == (name, role), guess.reason
        assert (name, guess.type) == (name, kind), guess.reason
        assert guess.reason


def test_a_time_beside_a_status_is_of_survival():
    assert guessed({"time": "ages"})[0].role == "quasi"
    time, status = guessed({"time": "ages", "status": "codes"})
    assert time.role == "confidential"
    assert "survival" in time.reason
    assert status.role == "quasi"


def test_only_the_first_weight_is_one():
    assert [guess.role for guess in guessed({"wgt": "factors", "poids": "factors"})] == ["weight", "other"]


def test_whole_numbers_with_gaps_stay_whole():
    cells = pa.array([float(j % 90) if j % 9 else None for j in range(N)])
    (guess,) = guess_roles(Frame(pa.table({"hours": cells})))
    assert (guess.type, guess.gaps) == ("integer", 23)


def test_guesses_at_truths_and_free_text():
    words = [f"text {j // 2 if j < 4 else j}" for j in range(10)]
    guesses = guess_roles(Frame(pa.table({"married": [True, False] * 5, "remark": words})))
    assert [(guess.role, guess.type) for guess in guesses] == [("quasi", "boolean"), ("other", "nominal")]
    assert guesses[0].reason == "stored as boolean"
    assert guesses[1].reason == "free text? 8 different values; published as it is"


def test_guesses_at_what_is_no_category_and_at_times_of_day():
    times = [dt.time(hour) for hour in range(8)]
    guesses = guess_roles(Frame(pa.table({"list": [[1]] * 8, "clock": times})))
    assert [(guess.role, guess.type) for guess in guesses] == [("other", None), ("other", "nominal")]
    assert guesses[0].reason.startswith("cannot be grouped: column 'list' holds list<")
