//! Data directories that no task has.

use tensorfleet_tensor::{Code, Result, Tensor};

use super::task::registry;
use crate::{Contents, fill};

const TASK: (&str, &str) = ("/job:ps/replica:0/task:0", "ps");

#[test]
fn what_a_directory_is_made_of_is_found_in_it() {
    let place = tempfile::tempdir().unwrap();
    for by_reference in [false, true] {
        let directory = place.path().join(format!("{by_reference}"));
        let variables = || {
            let variable = |name: &str, value: f32| -> Result<(String, Tensor)> {
                Ok((name.to_owned(), Tensor::vector(&[value; 5000])?))
            };
            [variable("b", 2.0), variable("a", 1.0)]
        };
        assert_eq!(fill(&directory, TASK, registry(), by_reference, variables()).unwrap(), 2);
        let contents = Contents::read(&directory, registry()).unwrap();
        assert_eq!((contents.task.as_str(), contents.changes), (TASK.0, 2));
        let names: Vec<&str> =
            contents.variables.iter().map(|variable| variable.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(contents.variables.iter().all(|kept| kept.by_reference == by_reference));
        assert_eq!(contents.variables[1].value.values::<f32>().unwrap()[4999], 2.0);
        let again = fill(&directory, TASK, registry(), by_reference, variables());
        assert_eq!(again.unwrap_err().code(), Code::FailedPrecondition);
    }
    let error = Contents::read(place.path(), registry()).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
}
