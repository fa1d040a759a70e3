//! The hashes against TensorFlow 2.21's ops with as many buckets as an int64 can count.

use super::*;

const BUCKETS: u64 = i64::MAX as u64;
const KEY: [u64; 2] = [123_456_789, -987_654_321_i64 as u64];

/// The length of a string and its fast, strong and legacy buckets. The lengths lie on both sides of
/// every length at which an algorithm changes its ways.
const RECORDED: &[(usize, u64, u64, u64)] = &[
    (0, 1936946117179621456, 4802289073892269430, 105434511174508092),
    (1, 766514606110392583, 8639305976311024594, 8657254332378762977),
    (3, 6192772629295113259, 5175260693924124624, 4437946586480981674),
    (4, 7845307486567932582, 7882750887874777241, 5247574667746751651),
    (7, 6808685762050185018, 7948232873965442976, 9114986271708194197),
    (8, 7958311906784197040, 904837461430531424, 2261390593865629673),
    (16, 3451731920506360940, 5970841374955990802, 3583873552664699878),
    (17, 1493068376769627237, 7517796546556624525, 5983965070676915813),
    (32, 3589745362796910094, 7780537565242491790, 7108454308514813443),
    (33, 8082985565787164059, 3986589492423952750, 1779082971744686183),
    (64, 9112129451995783452, 2726816887486522586, 8850458438417287515),
    (65, 6694110172514551121, 1759757693719515452, 455320641706770004),
    (128, 7565446723749062626, 4619065744628073126, 4747649677687999344),
    (129, 5726653050248582443, 5090606331984371174, 909161801685119344),
    (1000, 5216876586846235100, 2246988302157598761, 6369387524163817496),
];

fn sample(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + len * 13 + (i >> 3) * 31) as u8).collect()
}

#[test]
fn strings_of_every_length_class() {
    for &(len, fast, strong, legacy) in RECORDED {
        let data = sample(len);
        assert_eq!(bucket(fingerprint64(&data), BUCKETS), fast, "fast, length {len}");
        assert_eq!(bucket(siphash(KEY, &data), BUCKETS), strong, "strong, length {len}");
        assert_eq!(bucket(murmur64(&data), BUCKETS), legacy, "legacy, length {len}");
    }
}

/// `SparseCross` chains the fingerprints of its columns from its hash key.
#[test]
fn crossed_fingerprints() {
    let cross = |strings: &[&str]| {
        let hashes = strings.iter().map(|string| fingerprint64(string.as_bytes()));
        bucket(hashes.fold(0xDE_CAFC_AFFE, fingerprint_cat64), BUCKETS)
    };
    assert_eq!(cross(&["a", "c"]), 1265624096873407566);
    assert_eq!(cross(&["b", "c"]), 2725843207563437254);
}
