"""A set of texts that keeps only their hashes."""

from ragboard.readers.cells import UniqueIds
from ragboard.store.text_hashes import TextHashes


def test_it_contains_the_texts_that_were_added() -> None:
    hashes = TextHashes()
    texts = [f"q{number}" for number in range(5_000)]
    for text in texts:
        assert text not in hashes
        hashes.add(text)
        hashes.add(text)
    assert len(hashes) == len(texts)
    assert all(text in hashes for text in texts)
    assert not any(f"r{number}" in hashes for number in range(5_000))


def test_ids_are_numbered_as_with_a_set_of_ids() -> None:
    requested = ["a", "b", "a", "a#2", "a", "", "b", "", "a#2"] * 300
    with_hashes, with_texts = UniqueIds(used=TextHashes()), UniqueIds()
    assert [with_hashes.assign(one) for one in requested] == [with_texts.assign(one) for one in requested]
