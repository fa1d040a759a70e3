//! Resources: everything that outlives a step, found by container and name.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use rustc_hash::FxHashMap;
use tensorfleet_tensor::{
    DType, PartialShape, ResourceHandle, Result, already_exists, internal, invalid_argument,
    not_found,
};

use crate::{Journal, Place, Unit, Variable};

/// Something that ops keep between steps: a variable, a queue, a table.
pub trait Resource: Any + fmt::Debug + Send + Sync {
    /// TensorFlow's name of the type, as it stands in resource handles.
    const TYPE_NAME: &'static str;

    /// The variable that this is, if it is one: its changes are told to the task's journal.
    fn variable(&self) -> Option<&Variable> {
        None
    }
}

type Shared = Arc<dyn Any + Send + Sync>;

/// What handles say instead of a container when they are the only way to their resource.
const ANONYMOUS: &str = "Anonymous";

/// Containers by name; in each, resources by type and name.
type Containers = FxHashMap<String, FxHashMap<(TypeId, String), Entry>>;

/// The resources of one device, or of one step.
#[derive(Default)]
pub struct Resources {
    default_container: String,
    containers: Mutex<Containers>,
    anonymous: Mutex<Anonymous>,
    /// Where changes are told, and the number of the device there.
    journal: OnceLock<(Arc<dyn Journal>, u32)>,
}

/// Resources that live as long as a handle of theirs. They are listed because a handle may travel as
/// a message, which cannot keep anything alive, and come back.
#[derive(Default)]
struct Anonymous {
    made: u64,
    listed: FxHashMap<String, Weak<dyn Any + Send + Sync>>,
    /// At how many entries those that are gone are taken off the list.
    sweep_at: usize,
}

struct Entry {
    resource: Shared,
    type_name: &'static str,
    debug: fn(&Shared) -> String,
    variable: fn(&Shared) -> Option<&Variable>,
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let containers = self.lock();
        let mut map = f.debug_map();
        for (container, entries) in containers.iter() {
            for ((_, name), entry) in entries {
                map.entry(&format!("{container}/{name}"), &(entry.debug)(&entry.resource));
            }
        }
        map.finish()
    }
}

impl Resources {
    /// Makes an empty set. Resources without a container go to `default_container`.
    pub fn new(default_container: impl Into<String>) -> Resources {
        Resources { default_container: default_container.into(), ..Resources::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Containers> {
        self.containers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The container that an empty name means.
    pub fn default_container(&self) -> &str {
        &self.default_container
    }

    /// Tells a journal from now on what changes. `device` is the number of the device in it.
    pub fn keep_in(&self, journal: Arc<dyn Journal>, device: u32) {
        self.journal.get_or_init(|| (journal, device));
    }

    /// What a step that begins now changes, if there is a journal.
    pub fn begin_unit(&self) -> Option<Arc<dyn Unit>> {
        self.journal.get().map(|(journal, _)| journal.begin())
    }

    /// Visits all variables that can be found, with their containers and names.
    pub fn for_each_variable(&self, mut visit: impl FnMut(&Variable, &str, &str, &'static str)) {
        for (container, entries) in self.lock().iter() {
            for ((_, name), entry) in entries {
                if let Some(variable) = (entry.variable)(&entry.resource) {
                    visit(variable, container, name, entry.type_name);
                }
            }
        }
    }

    /// Makes a resource known to the journal. Called under the lock.
    fn tell_created<R: Resource>(&self, container: &str, name: &str, resource: &R) {
        if let Some((journal, device)) = self.journal.get()
            && let Some(variable) = resource.variable()
        {
            let type_name = R::TYPE_NAME;
            let place = Place { device: *device, container, name, type_name };
            variable.set_number(journal.created(variable, &place));
        }
    }

    fn container<'a>(&'a self, name: &'a str) -> &'a str {
        if name.is_empty() { &self.default_container } else { name }
    }

    /// Finds a resource, or makes it under the same lock.
    pub fn lookup_or_create<R: Resource>(
        &self,
        container: &str,
        name: &str,
        create: impl FnOnce() -> Result<R>,
    ) -> Result<Arc<R>> {
        let container = self.container(container);
        let mut containers = self.lock();
        let entries = containers.entry(container.to_owned()).or_default();
        if let Some(entry) = entries.get(&(TypeId::of::<R>(), name.to_owned())) {
            return downcast(&entry.resource);
        }
        let resource = Arc::new(create()?);
        self.tell_created(container, name, &*resource);
        entries.insert((TypeId::of::<R>(), name.to_owned()), entry(&resource));
        Ok(resource)
    }

    /// Adds a resource whose name must be free.
    pub fn create<R: Resource>(&self, container: &str, name: &str, resource: Arc<R>) -> Result<()> {
        let container = self.container(container);
        let mut containers = self.lock();
        let entries = containers.entry(container.to_owned()).or_default();
        if entries.contains_key(&(TypeId::of::<R>(), name.to_owned())) {
            return Err(already_exists!("Resource {container}/{name}/{}", R::TYPE_NAME));
        }
        self.tell_created(container, name, &*resource);
        entries.insert((TypeId::of::<R>(), name.to_owned()), entry(&resource));
        Ok(())
    }

    /// Finds a resource.
    pub fn lookup<R: Resource>(&self, container: &str, name: &str) -> Result<Arc<R>> {
        let container = self.container(container);
        let containers = self.lock();
        let Some(entries) = containers.get(container) else {
            return Err(not_found!(
                "Container {container} does not exist. (Could not find resource: {container}/{name})"
            ));
        };
        match entries.get(&(TypeId::of::<R>(), name.to_owned())) {
            Some(entry) => downcast(&entry.resource),
            None => Err(not_found!("Resource {container}/{name}/{} does not exist.", R::TYPE_NAME)),
        }
    }

    /// Finds the resource that a handle names.
    pub fn get<R: Resource>(&self, handle: &ResourceHandle) -> Result<Arc<R>> {
        if let Some(anchor) = &handle.anchor {
            return downcast(anchor);
        }
        if handle.container == ANONYMOUS {
            return downcast(&self.anonymous(&handle.name)?);
        }
        if !handle.type_name.is_empty() && handle.type_name != R::TYPE_NAME {
            return Err(invalid_argument!(
                "Trying to access resource using the wrong type. Expected {} got {}",
                handle.type_name,
                R::TYPE_NAME
            ));
        }
        self.lookup(&handle.container, &handle.name)
    }

    /// Makes a handle that is the only way to a resource, and keeps it alive: when the last clone of
    /// the handle is gone, so is the resource. `kind` is for people who read the name.
    pub fn anonymous_handle<R: Resource>(
        &self,
        device: &str,
        kind: &str,
        resource: Arc<R>,
    ) -> ResourceHandle {
        let mut anonymous = self.anonymous.lock().unwrap_or_else(|p| p.into_inner());
        let name = format!("{kind}{}", anonymous.made);
        anonymous.made += 1;
        if anonymous.listed.len() >= anonymous.sweep_at {
            anonymous.listed.retain(|_, resource| resource.strong_count() > 0);
            anonymous.sweep_at = (2 * anonymous.listed.len()).max(64);
        }
        let shared: Shared = Arc::clone(&resource) as Shared;
        anonymous.listed.insert(name.clone(), Arc::downgrade(&shared));
        anonymous_handle(device, &name, resource)
    }

    /// Gives a handle that came as a message its resource back, if it is an anonymous one.
    pub fn revive(&self, mut handle: ResourceHandle) -> Result<ResourceHandle> {
        if handle.anchor.is_none() && handle.container == ANONYMOUS {
            handle.anchor = Some(self.anonymous(&handle.name)?);
        }
        Ok(handle)
    }

    fn anonymous(&self, name: &str) -> Result<Shared> {
        let anonymous = self.anonymous.lock().unwrap_or_else(|p| p.into_inner());
        anonymous
            .listed
            .get(name)
            .and_then(Weak::upgrade)
            .ok_or_else(|| not_found!("Resource {ANONYMOUS}/{name} does not exist."))
    }

    /// Forgets a resource.
    pub fn delete<R: Resource>(&self, container: &str, name: &str) -> Result<()> {
        let container = self.container(container);
        let removed = self
            .lock()
            .get_mut(container)
            .and_then(|entries| entries.remove(&(TypeId::of::<R>(), name.to_owned())));
        match removed {
            Some(_) => Ok(()),
            None => Err(not_found!("Resource {container}/{name}/{} does not exist.", R::TYPE_NAME)),
        }
    }

    /// Forgets the resource that a handle names; of any type if the handle does not say which.
    pub fn delete_handle(&self, handle: &ResourceHandle, unit: Option<&dyn Unit>) -> Result<()> {
        if handle.anchor.is_some() {
            return Ok(());
        }
        let container = self.container(&handle.container);
        let _gate = unit.map(|unit| unit.enter()).transpose()?;
        let mut containers = self.lock();
        let Some(entries) = containers.get_mut(container) else {
            return Err(not_found!("Container {container} does not exist."));
        };
        let before = entries.len();
        let mut variables = Vec::new();
        entries.retain(|(_, name), entry| {
            let same_type = handle.type_name.is_empty() || handle.type_name == entry.type_name;
            let stays = *name != handle.name || !same_type;
            if !stays {
                variables.extend(entry.number());
            }
            stays
        });
        if let Some(unit) = unit.filter(|_| !variables.is_empty()) {
            unit.deleted(&variables);
        }
        if entries.len() == before {
            return Err(not_found!(
                "Resource {container}/{}/<unknown> does not exist.",
                handle.name
            ));
        }
        Ok(())
    }

    /// Forgets everything in a container.
    pub fn cleanup(&self, container: &str, unit: Option<&dyn Unit>) -> Result<()> {
        let container = self.container(container);
        let _gate = unit.map(|unit| unit.enter()).transpose()?;
        let mut containers = self.lock();
        let removed = containers.remove(container);
        if let (Some(unit), Some(entries)) = (unit, &removed) {
            let variables: Vec<u64> = entries.values().filter_map(Entry::number).collect();
            if !variables.is_empty() {
                unit.deleted(&variables);
            }
        }
        // What is forgotten may itself use resources when it goes.
        drop(containers);
        drop(removed);
        Ok(())
    }

    /// Makes the handle by which other nodes find a resource of type `R`.
    pub fn handle<R: Resource>(
        &self,
        device: &str,
        container: &str,
        name: &str,
        contents: Vec<(DType, PartialShape)>,
    ) -> ResourceHandle {
        ResourceHandle {
            device: device.to_owned(),
            container: self.container(container).to_owned(),
            name: name.to_owned(),
            hash_code: 0,
            type_name: R::TYPE_NAME.to_owned(),
            contents,
            anchor: None,
        }
    }
}

/// Makes a handle that is itself the only way to its resource, and keeps it alive.
pub fn anonymous_handle<R: Resource>(device: &str, name: &str, resource: Arc<R>) -> ResourceHandle {
    ResourceHandle {
        device: device.to_owned(),
        container: ANONYMOUS.to_owned(),
        name: name.to_owned(),
        type_name: R::TYPE_NAME.to_owned(),
        anchor: Some(resource),
        ..ResourceHandle::default()
    }
}

impl Entry {
    /// How the journal calls the variable that this is.
    fn number(&self) -> Option<u64> {
        (self.variable)(&self.resource).and_then(Variable::number)
    }
}

fn entry<R: Resource>(resource: &Arc<R>) -> Entry {
    Entry {
        resource: Arc::clone(resource) as Shared,
        type_name: R::TYPE_NAME,
        debug: |shared| shared.downcast_ref::<R>().map_or_else(String::new, |r| format!("{r:?}")),
        variable: |shared| shared.downcast_ref::<R>().and_then(Resource::variable),
    }
}

fn downcast<R: Resource>(shared: &Shared) -> Result<Arc<R>> {
    Arc::clone(shared)
        .downcast::<R>()
        .map_err(|_| internal!("a resource is not of type {}", R::TYPE_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Variable;

    #[test]
    fn resources_are_shared_by_name_and_gone_with_their_container() {
        let resources = Resources::new("ps");
        let make = || Ok(Variable::new("v", DType::Float));
        let a = resources.lookup_or_create("", "v", make).unwrap();
        let b = resources.lookup_or_create("ps", "v", make).unwrap();
        assert!(Arc::ptr_eq(&a, &b));
        resources.cleanup("", None).unwrap();
        let error = resources.lookup::<Variable>("", "v").unwrap_err();
        assert_eq!(error.message(), "Container ps does not exist. (Could not find resource: ps/v)");
    }

    #[test]
    fn a_handle_that_travelled_finds_its_resource_while_another_keeps_it() {
        let resources = Resources::new("ps");
        let make = || Arc::new(Variable::new("v", DType::Float));
        let handle = resources.anonymous_handle("cpu", "v", make());
        let other = resources.anonymous_handle("cpu", "v", make());
        assert_ne!(handle.name, other.name);
        let travelled = ResourceHandle { anchor: None, ..handle.clone() };
        assert!(resources.get::<Variable>(&travelled).is_ok());
        let revived = resources.revive(travelled.clone()).unwrap();
        drop(handle);
        assert!(resources.get::<Variable>(&travelled).is_ok());
        drop(revived);
        let error = resources.get::<Variable>(&travelled).unwrap_err();
        assert_eq!(
            error.message(),
            format!("Resource Anonymous/{} does not exist.", travelled.name)
        );
        for _ in 0..1000 {
            resources.anonymous_handle("cpu", "v", make());
        }
        assert!(resources.anonymous.lock().unwrap().listed.len() < 200);
    }
}
