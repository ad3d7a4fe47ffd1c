use super::seen::MAX_BROWSERS;
use super::*;

const A: &str = "aaaaaaaa-0000-4000-8000-000000000000";
const B: &str = "bbbbbbbb-0000-4000-8000-000000000000";

fn handshake(install_id: &str) -> Handshake<'_> {
    Handshake {
        relay_nonce: "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE",
        extension_nonce: "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI",
        install_id,
        address: "127.0.0.1:19222",
    }
}

/// What the relay answers an extension with this secret.
fn verify(pairings: &Pairings, secret: &Secret, install_id: &str, now: u64) -> Verdict {
    let handshake = handshake(install_id);
    let proof = secret.prove(Role::Extension, &handshake);
    pairings.verify(&handshake, &proof, now)
}

/// Verifies and records, as the relay does. Returns the browser's name.
fn connect(pairings: &mut Pairings, secret: &Secret, install_id: &str) -> String {
    let Verdict::Proven { pairing, .. } = verify(pairings, secret, install_id, 0) else {
        panic!("the proof does not hold");
    };
    pairings
        .record_seen(
            &pairing,
            install_id,
            ("chrome", "Chrome/1"),
            &InUse::default(),
            0,
        )
        .unwrap()
}

fn with_folder() -> (Pairings, Secret) {
    let mut pairings = Pairings::default();
    let (_, secret) = pairings.pair_folder(Path::new("/x"), None, None, 0);
    (pairings, secret)
}

#[test]
fn every_browser_that_loads_a_folder_gets_its_own_name() {
    let (mut pairings, secret) = with_folder();
    assert_eq!(connect(&mut pairings, &secret, A), "chrome");
    assert_eq!(connect(&mut pairings, &secret, B), "chrome-2");
    assert_eq!(connect(&mut pairings, &secret, A), "chrome");
}

#[test]
fn unknown_secret_is_not_paired() {
    let (mut pairings, secret) = with_folder();
    let other = Secret::random();
    assert_eq!(verify(&pairings, &other, A, 0), Verdict::NotPaired);
    connect(&mut pairings, &secret, A);
    assert_eq!(verify(&pairings, &other, A, 0), Verdict::WrongProof);
}

#[test]
fn no_browser_can_pose_as_one_of_another_pairing() {
    let (mut pairings, secret) = with_folder();
    let (_, other) = pairings.pair_folder(Path::new("/y"), None, None, 0);
    connect(&mut pairings, &secret, A);
    connect(&mut pairings, &other, B);
    assert_eq!(verify(&pairings, &other, A, 0), Verdict::WrongProof);
}

#[test]
fn unpaired_browser_stays_out_although_another_one_has_the_same_secret() {
    let (mut pairings, secret) = with_folder();
    connect(&mut pairings, &secret, A);
    connect(&mut pairings, &secret, B);
    pairings.unpair("chrome").unwrap();
    assert_eq!(verify(&pairings, &secret, A, 0), Verdict::NotPaired);
    assert!(matches!(
        verify(&pairings, &secret, B, 0),
        Verdict::Proven { .. }
    ));
    pairings.unpair("chrome-2").unwrap();
    assert_eq!(verify(&pairings, &secret, B, 0), Verdict::NotPaired);
}

#[test]
fn folder_admits_no_new_browser_after_one_was_unpaired_until_it_is_written_again() {
    let (mut pairings, secret) = with_folder();
    connect(&mut pairings, &secret, A);
    connect(&mut pairings, &secret, B);
    pairings.unpair("chrome").unwrap();
    let new = "cccccccc-0000-4000-8000-000000000000";
    assert_eq!(verify(&pairings, &secret, new, 0), Verdict::NotPaired);
    let (_, fresh) = pairings.pair_folder(Path::new("/x"), Some(&secret), None, 0);
    assert!(fresh != secret);
    assert_eq!(connect(&mut pairings, &fresh, B), "chrome-2");
    assert_eq!(connect(&mut pairings, &fresh, A), "chrome");
}

#[test]
fn browser_may_move_to_a_folder_that_nobody_has_used() {
    let (mut pairings, secret) = with_folder();
    connect(&mut pairings, &secret, A);
    let (_, other) = pairings.pair_folder(Path::new("/y"), None, None, 1);
    assert_eq!(connect(&mut pairings, &other, A), "chrome");
    connect(&mut pairings, &secret, B);
    assert_eq!(
        verify(&pairings, &other, B, 0),
        Verdict::WrongProof,
        "it is used"
    );
}

#[test]
fn folder_that_was_moved_keeps_its_secret() {
    let (mut pairings, secret) = with_folder();
    let (_, moved) = pairings.pair_folder(Path::new("/moved"), Some(&secret), None, 0);
    assert!(moved == secret);
}

#[test]
fn code_that_its_browser_has_left_admits_nobody() {
    let mut pairings = Pairings::default();
    let first = pairings.pair_by_code(None, 0);
    connect(&mut pairings, &first, A);
    let second = pairings.pair_by_code(None, 1);
    connect(&mut pairings, &second, A);
    assert_eq!(verify(&pairings, &first, B, 0), Verdict::NotPaired);
}

#[test]
fn code_that_two_browsers_have_proven_admits_the_first() {
    let mut pairings = Pairings::default();
    let code = pairings.pair_by_code(None, 0);
    let proven = [A, B].map(|id| verify(&pairings, &code, id, 0));
    let [Verdict::Proven { pairing, .. }, Verdict::Proven { .. }] = proven else {
        panic!("both prove it")
    };
    let seen = |pairings: &mut Pairings, id| {
        pairings.record_seen(&pairing, id, ("chrome", "Chrome/1"), &InUse::default(), 0)
    };
    assert!(seen(&mut pairings, A).is_some());
    assert_eq!(seen(&mut pairings, B), None);
}

#[test]
fn code_admits_one_browser_and_expires() {
    let mut pairings = Pairings::default();
    let code = pairings.pair_by_code(None, 0);
    assert_eq!(
        verify(&pairings, &code, A, CODE_LIFETIME),
        Verdict::NotPaired
    );
    connect(&mut pairings, &code, A);
    assert_eq!(verify(&pairings, &code, B, 0), Verdict::NotPaired);
    assert!(matches!(
        verify(&pairings, &code, A, CODE_LIFETIME),
        Verdict::Proven { .. }
    ));
}

#[test]
fn browser_keeps_its_name_when_it_is_paired_anew_by_a_code() {
    let (mut pairings, secret) = with_folder();
    connect(&mut pairings, &secret, A);
    pairings.rename("chrome", "work").unwrap();
    let code = pairings.pair_by_code(None, 0);
    assert_eq!(connect(&mut pairings, &code, A), "work");
    assert_eq!(verify(&pairings, &secret, A, 0), Verdict::WrongProof);
}

#[test]
fn folder_keeps_its_secret_when_it_is_written_again() {
    let (mut pairings, secret) = with_folder();
    let (_, again) = pairings.pair_folder(Path::new("/x"), Some(&secret), None, 0);
    assert!(again == secret);
    connect(&mut pairings, &secret, A);
    let (_, fresh) = pairings.pair_folder(Path::new("/x"), None, None, 0);
    assert!(fresh != secret);
    assert_eq!(connect(&mut pairings, &fresh, A), "chrome");
}

#[test]
fn names_are_unique_and_safe_in_a_url() {
    let (mut pairings, secret) = with_folder();
    connect(&mut pairings, &secret, A);
    connect(&mut pairings, &secret, B);
    assert_eq!(
        pairings.rename("chrome", "Chrome-2"),
        Err(NameFault::Taken("Chrome-2".to_owned()))
    );
    assert_eq!(
        pairings.rename("nobody", "x"),
        Err(NameFault::Unknown("nobody".to_owned()))
    );
    for malformed in ["", "..", "-a", "a b", "a&b", &"x".repeat(41)] {
        assert_eq!(
            pairings.rename("chrome", malformed),
            Err(NameFault::Malformed)
        );
    }
    assert_eq!(pairings.rename("chrome", "CHROME"), Ok(()));
}

/// The id of the browser with this number.
fn numbered(number: u32) -> String {
    format!("{number:08}-0000-4000-8000-000000000000")
}

#[test]
fn never_forgets_a_browser_that_was_renamed_or_is_connected() {
    let (mut pairings, secret) = with_folder();
    connect(&mut pairings, &secret, A);
    pairings.rename("chrome", "work").unwrap();
    connect(&mut pairings, &secret, B);
    let Verdict::Proven { pairing, .. } = verify(&pairings, &secret, A, 0) else {
        panic!("it is paired");
    };
    let in_use = InUse {
        connected: vec![B.to_owned()],
        names: Vec::new(),
    };
    for number in 0..40 {
        let id = numbered(number);
        let seen = ("edge", "Edg/1");
        pairings
            .record_seen(&pairing, &id, seen, &in_use, 1 + u64::from(number))
            .unwrap();
    }
    assert_eq!(pairings.browsers().count(), MAX_BROWSERS);
    assert_eq!(
        pairings.browser(A).map(|own| own.name.as_str()),
        Some("work")
    );
    assert!(pairings.browser(B).is_some(), "it is connected");
    assert!(pairings.browser(&numbered(0)).is_none(), "it is the oldest");
    assert!(
        pairings.browser(&numbered(39)).is_some(),
        "it is the newest"
    );
}

#[test]
fn new_browser_gets_no_name_that_another_browser_uses() {
    let (mut pairings, secret) = with_folder();
    let Verdict::Proven { pairing, .. } = verify(&pairings, &secret, A, 0) else {
        panic!("it is paired");
    };
    let in_use = InUse {
        connected: Vec::new(),
        names: vec!["Chrome".to_owned()],
    };
    let name = pairings.record_seen(&pairing, A, ("chrome", "Chrome/1"), &in_use, 0);
    assert_eq!(name.as_deref(), Some("chrome-2"));
}

#[test]
fn forgets_the_browsers_that_were_not_seen_for_the_longest_time() {
    let (mut pairings, secret) = with_folder();
    for number in 0..40 {
        connect(&mut pairings, &secret, &numbered(number));
    }
    assert_eq!(pairings.browsers().count(), MAX_BROWSERS);
}

#[test]
fn name_is_free_for_the_folder_that_has_it() {
    let (mut pairings, secret) = with_folder();
    connect(&mut pairings, &secret, A);
    let is_taken = |folder: Option<&str>, name| {
        let folder = folder.map(Path::new);
        pairings.has_name_outside(folder, name)
    };
    assert!(!is_taken(Some("/x"), "chrome"));
    assert!(is_taken(Some("/y"), "Chrome"));
    assert!(is_taken(None, "chrome"));
    assert!(!is_taken(None, "chrome-2"));
}

#[test]
fn the_relay_proves_the_secret_of_the_pairing_that_was_proven() {
    let (mut pairings, secret) = with_folder();
    let (other, _) = pairings.pair_folder(Path::new("/y"), None, None, 0);
    let Verdict::Proven { pairing, .. } = verify(&pairings, &secret, A, 0) else {
        panic!("the proof does not hold");
    };
    let handshake = handshake(A);
    let proof = pairings.prove(&pairing, &handshake).unwrap();
    assert!(secret.verify(Role::Relay, &handshake, &proof));
    let proof = pairings.prove(&other, &handshake).unwrap();
    assert!(!secret.verify(Role::Relay, &handshake, &proof));
    let unknown = PairingId("unknown".to_owned());
    assert_eq!(pairings.prove(&unknown, &handshake), None);
}

#[test]
fn a_browser_is_paired_until_it_is_unpaired() {
    let (mut pairings, secret) = with_folder();
    let name = connect(&mut pairings, &secret, A);
    connect(&mut pairings, &secret, B);
    let Verdict::Proven { pairing, .. } = verify(&pairings, &secret, A, 0) else {
        panic!("the proof does not hold");
    };
    let is_paired = |pairings: &Pairings, id| pairings.is_paired(&pairing, id);
    assert!(is_paired(&pairings, A) && is_paired(&pairings, B));
    pairings.unpair(&name).unwrap();
    assert!(!is_paired(&pairings, A) && is_paired(&pairings, B));
    let unknown = PairingId("unknown".to_owned());
    assert!(pairings.contains(&pairing) && !pairings.contains(&unknown));
    assert!(!pairings.is_paired(&unknown, B));
}

#[test]
fn codes_that_nobody_used_are_forgotten_after_an_hour() {
    let (mut pairings, folder) = with_folder();
    let (used, unused) = (
        pairings.pair_by_code(None, 0),
        pairings.pair_by_code(None, 0),
    );
    connect(&mut pairings, &used, A);
    let hour = 60 * 60 * 1000;
    pairings.forget_unused_codes(hour - 1);
    assert_eq!(pairings.pairings.len(), 3);
    pairings.forget_unused_codes(hour);
    assert_eq!(pairings.pairings.len(), 2);
    assert_eq!(verify(&pairings, &unused, B, 0), Verdict::NotPaired);
    assert!(matches!(
        verify(&pairings, &folder, B, 0),
        Verdict::Proven { .. }
    ));
}

#[test]
fn only_a_name_that_the_user_chose_is_kept_as_such() {
    let (mut pairings, secret) = with_folder();
    connect(&mut pairings, &secret, A);
    let kept = |pairings: &Pairings| {
        let text = serde_json::to_string(pairings).unwrap();
        let read: Pairings = serde_json::from_str(&text).unwrap();
        assert!(read.browsers().eq(pairings.browsers()));
        text.contains("renamed")
    };
    assert!(!kept(&pairings));
    pairings.rename("chrome", "work").unwrap();
    assert!(kept(&pairings));
}
