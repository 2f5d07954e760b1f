"""Tests of loading nltk's stemmers without the rest of nltk."""

import subprocess
import sys

IN_NEW_PROCESS = """
import sys
from ragboard.text.stemmer import snowball_stemmer

stemmer = snowball_stemmer("english")
assert not [name for name in sys.modules if name.partition(".")[0] in ("nltk", "sklearn")]
assert stemmer.stem("generously") == "generous"

import nltk
from nltk.stem.snowball import SnowballStemmer

assert nltk.stem.SnowballStemmer is SnowballStemmer
for language, word in (("english", "Berries"), ("german", "Häuser"), ("french", "mangeons"), ("spanish", "ciudades")):
    assert snowball_stemmer(language).stem(word) == SnowballStemmer(language).stem(word) != word.lower()
"""


def test_stemmers_are_loaded_without_the_rest_of_nltk_which_can_still_be_imported() -> None:
    subprocess.run([sys.executable, "-c", IN_NEW_PROCESS], check=True)
