//! Resources: everything that outlives a step, found by container and name.
//!
//! A device has one table of them. [`Resources::room`] is a door to a part of it: whoever has the door
//! finds nothing else, whatever names it says, and nobody finds the part without the door.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use rustc_hash::FxHashMap;
use tensorfleet_tensor::{
    DType, PartialShape, ResourceHandle, Result, already_exists, internal, invalid_argument,
    not_found,
};

use crate::{Durable, Journal, Measure, Measured, Place, Unit, Variable};

/// Something that ops keep between steps: a variable, a queue, a table.
pub trait Resource: Any + fmt::Debug + Send + Sync {
    /// TensorFlow's name of the type, as it stands in resource handles.
    const TYPE_NAME: &'static str;

    /// The variable that this is, if it is one: its changes are told to the task's journal.
    fn variable(&self) -> Option<&Variable> {
        None
    }

    /// The resource as the task's journal keeps it, if it can.
    fn durable(&self) -> Option<&dyn Durable> {
        None
    }

    /// What it holds, for operators.
    fn measure(&self) -> Measure {
        Measure::default()
    }
}

type Shared = Arc<dyn Any + Send + Sync>;

/// What handles say instead of a container when they are the only way to their resource.
const ANONYMOUS: &str = "Anonymous";

/// Containers by name; in each, resources by type and name.
type Containers = FxHashMap<String, FxHashMap<(TypeId, String), Entry>>;

/// What stands between a room and the container in it. No room has it in its name.
const WALL: char = '\0';

/// The resources of one device, or of one step.
#[derive(Default)]
pub struct Resources {
    default_container: String,
    /// The part of the table that is seen; none for what is in no room.
    room: String,
    containers: Arc<Mutex<Containers>>,
    /// Their names can be guessed, so that each room has its own.
    anonymous: Mutex<Anonymous>,
    /// Where changes are told, and the number of the device there.
    journal: Arc<OnceLock<(Arc<dyn Journal>, u32)>>,
}

/// Resources that live as long as a handle of theirs. They are listed because a handle may travel as
/// a message, which cannot keep anything alive, and come back.
#[derive(Default)]
struct Anonymous {
    made: u64,
    listed: FxHashMap<String, Listed>,
    /// At how many entries those that are gone are taken off the list.
    sweep_at: usize,
}

/// A resource that only its handles keep.
struct Listed {
    resource: Weak<dyn Any + Send + Sync>,
    type_name: &'static str,
    measure: fn(&Shared) -> Measure,
}

struct Entry {
    resource: Shared,
    type_name: &'static str,
    measure: fn(&Shared) -> Measure,
    debug: fn(&Shared) -> String,
    variable: fn(&Shared) -> Option<&Variable>,
    durable: fn(&Shared) -> Option<&dyn Durable>,
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

    /// The door to a room of the same device, which need not have been there before.
    pub fn room(&self, name: &str) -> Resources {
        Resources {
            default_container: self.default_container.clone(),
            room: name.replace(WALL, ""),
            containers: Arc::clone(&self.containers),
            anonymous: Mutex::default(),
            journal: Arc::clone(&self.journal),
        }
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

    /// Where changes are told, if they are.
    pub fn journal(&self) -> Option<&Arc<dyn Journal>> {
        self.journal.get().map(|(journal, _)| journal)
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

    /// Visits all other resources that the journal keeps.
    pub fn for_each_durable(&self, mut visit: impl FnMut(&dyn Durable, &str, &str, &'static str)) {
        // Looking at all of a table takes a while, so nobody else waits for it here.
        let mut found = Vec::new();
        for (container, entries) in self.lock().iter() {
            for ((_, name), Entry { resource, type_name, durable, .. }) in entries {
                let names = (container.clone(), name.clone());
                found.push((names, *type_name, Arc::clone(resource), *durable));
            }
        }
        for ((container, name), type_name, resource, durable) in found {
            if let Some(durable) = durable(&resource)
                && durable.kept().number().is_some()
            {
                visit(durable, &container, &name, type_name);
            }
        }
    }

    /// What all resources are and hold, those without a name included.
    pub fn measure(&self) -> Vec<Measured> {
        // Looking at a resource may take its lock, so nobody else waits for it here.
        let mut found = Vec::new();
        for (container, entries) in self.lock().iter() {
            for ((_, name), entry) in entries {
                let Entry { resource, type_name, measure, .. } = entry;
                let names = (container.clone(), name.clone(), entry.number().is_some());
                found.push((names, *type_name, Arc::clone(resource), *measure));
            }
        }
        let anonymous = self.anonymous.lock().unwrap_or_else(|p| p.into_inner());
        for (name, Listed { resource, type_name, measure }) in &anonymous.listed {
            if let Some(resource) = resource.upgrade() {
                let names = (ANONYMOUS.to_owned(), name.clone(), false);
                found.push((names, *type_name, resource, *measure));
            }
        }
        drop(anonymous);
        let measured = found.into_iter().map(|(names, type_name, resource, measure)| {
            let ((container, name, durable), measure) = (names, measure(&resource));
            Measured { container, name, type_name, durable, measure }
        });
        measured.collect()
    }

    /// Makes a resource known to the journal. Called under the lock.
    fn tell_created<R: Resource>(&self, container: &str, name: &str, resource: &R) -> Result<()> {
        let Some((journal, device)) = self.journal.get() else { return Ok(()) };
        let place = Place { device: *device, container, name, type_name: R::TYPE_NAME };
        if let Some(variable) = resource.variable() {
            variable.set_number(journal.created(variable, &place));
        } else if let Some(durable) = resource.durable() {
            durable.kept().set_number(journal.described(durable, &place)?);
        }
        Ok(())
    }

    /// The container that a name means.
    fn container<'a>(&'a self, name: &'a str) -> &'a str {
        if name.is_empty() { &self.default_container } else { name }
    }

    /// How the table calls a container. No two containers have one name, whatever clients call them.
    fn key<'a>(&self, container: &'a str) -> Cow<'a, str> {
        if self.room.is_empty() && !container.contains(WALL) {
            return Cow::Borrowed(container);
        }
        Cow::Owned(format!("{}{WALL}{container}", self.room))
    }

    /// Finds a resource, or makes it under the same lock.
    pub fn lookup_or_create<R: Resource>(
        &self,
        container: &str,
        name: &str,
        create: impl FnOnce() -> Result<R>,
    ) -> Result<Arc<R>> {
        self.find_or_create(container, name, true, create)
    }

    /// The same for what belongs to its maker, who alone knows the name: no journal keeps it.
    pub fn lookup_or_create_private<R: Resource>(
        &self,
        container: &str,
        name: &str,
        create: impl FnOnce() -> Result<R>,
    ) -> Result<Arc<R>> {
        self.find_or_create(container, name, false, create)
    }

    fn find_or_create<R: Resource>(
        &self,
        container: &str,
        name: &str,
        keep: bool,
        create: impl FnOnce() -> Result<R>,
    ) -> Result<Arc<R>> {
        let key = self.key(self.container(container));
        let mut containers = self.lock();
        let entries = containers.entry(key.to_string()).or_default();
        if let Some(entry) = entries.get(&(TypeId::of::<R>(), name.to_owned())) {
            return downcast(&entry.resource);
        }
        let resource = Arc::new(create()?);
        if keep {
            self.tell_created(&key, name, &*resource)?;
        }
        entries.insert((TypeId::of::<R>(), name.to_owned()), entry(&resource));
        Ok(resource)
    }

    /// Adds a resource whose name must be free.
    pub fn create<R: Resource>(&self, container: &str, name: &str, resource: Arc<R>) -> Result<()> {
        let container = self.container(container);
        self.create_at(&self.key(container), container, name, resource)
    }

    /// Adds a resource where a journal says that it was, in whichever room.
    pub fn restore<R: Resource>(&self, place: &str, name: &str, resource: Arc<R>) -> Result<()> {
        self.create_at(place, place, name, resource)
    }

    fn create_at<R: Resource>(
        &self,
        key: &str,
        container: &str,
        name: &str,
        resource: Arc<R>,
    ) -> Result<()> {
        let mut containers = self.lock();
        let entries = containers.entry(key.to_owned()).or_default();
        if entries.contains_key(&(TypeId::of::<R>(), name.to_owned())) {
            return Err(already_exists!("Resource {container}/{name}/{}", R::TYPE_NAME));
        }
        self.tell_created(key, name, &*resource)?;
        entries.insert((TypeId::of::<R>(), name.to_owned()), entry(&resource));
        Ok(())
    }

    /// Finds a resource.
    pub fn lookup<R: Resource>(&self, container: &str, name: &str) -> Result<Arc<R>> {
        let container = self.container(container);
        let containers = self.lock();
        let Some(entries) = containers.get(&*self.key(container)) else {
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
            anonymous.listed.retain(|_, listed| listed.resource.strong_count() > 0);
            anonymous.sweep_at = (2 * anonymous.listed.len()).max(64);
        }
        let shared: Shared = Arc::clone(&resource) as Shared;
        let listed = Listed {
            resource: Arc::downgrade(&shared),
            type_name: R::TYPE_NAME,
            measure: measure::<R>,
        };
        anonymous.listed.insert(name.clone(), listed);
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
            .and_then(|listed| listed.resource.upgrade())
            .ok_or_else(|| not_found!("Resource {ANONYMOUS}/{name} does not exist."))
    }

    /// Forgets a resource.
    pub fn delete<R: Resource>(&self, container: &str, name: &str) -> Result<()> {
        let container = self.container(container);
        let removed = self
            .lock()
            .get_mut(&*self.key(container))
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
        let Some(entries) = containers.get_mut(&*self.key(container)) else {
            return Err(not_found!("Container {container} does not exist."));
        };
        let before = entries.len();
        let mut numbers = Vec::new();
        entries.retain(|(_, name), entry| {
            let same_type = handle.type_name.is_empty() || handle.type_name == entry.type_name;
            let stays = *name != handle.name || !same_type;
            if !stays {
                numbers.extend(entry.number());
            }
            stays
        });
        if let Some(unit) = unit.filter(|_| !numbers.is_empty()) {
            unit.deleted(&numbers);
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
        let removed = containers.remove(&*self.key(container));
        if let (Some(unit), Some(entries)) = (unit, &removed) {
            let numbers: Vec<u64> = entries.values().filter_map(Entry::number).collect();
            if !numbers.is_empty() {
                unit.deleted(&numbers);
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
    /// How the journal calls what this is.
    fn number(&self) -> Option<u64> {
        match (self.variable)(&self.resource) {
            Some(variable) => variable.number(),
            None => (self.durable)(&self.resource).and_then(|durable| durable.kept().number()),
        }
    }
}

fn entry<R: Resource>(resource: &Arc<R>) -> Entry {
    Entry {
        resource: Arc::clone(resource) as Shared,
        type_name: R::TYPE_NAME,
        measure: measure::<R>,
        debug: |shared| shared.downcast_ref::<R>().map_or_else(String::new, |r| format!("{r:?}")),
        variable: |shared| shared.downcast_ref::<R>().and_then(Resource::variable),
        durable: |shared| shared.downcast_ref::<R>().and_then(Resource::durable),
    }
}

fn measure<R: Resource>(shared: &Shared) -> Measure {
    shared.downcast_ref::<R>().map(Resource::measure).unwrap_or_default()
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
    fn a_room_is_seen_from_inside_alone() {
        let outside = Resources::new("ps");
        let (red, blue) = (outside.room("red"), outside.room("blue"));
        let make = || Ok(Variable::new("v", DType::Float));
        let secret = red.lookup_or_create("", "v", make).unwrap();
        // Whatever another one says, it finds something else or nothing.
        for container in ["", "ps", "red", "red\0ps", "\0red\0ps", "red\0"] {
            for other in [&outside, &blue] {
                assert!(other.lookup::<Variable>(container, "v").is_err(), "{container:?}");
                let made = other.lookup_or_create(container, "v", make).unwrap();
                assert!(!Arc::ptr_eq(&made, &secret), "{container:?}");
                other.cleanup(container, None).unwrap();
            }
        }
        assert!(Arc::ptr_eq(&red.lookup("ps", "v").unwrap(), &secret));
        let mut seen = Vec::new();
        outside
            .for_each_variable(|_, place, name, _| seen.push((place.to_owned(), name.to_owned())));
        let (place, name) = seen.pop().unwrap();
        assert!(seen.is_empty());
        // What a journal keeps comes back into the room that it was in.
        let later = Resources::new("ps");
        later.restore(&place, &name, make().map(Arc::new).unwrap()).unwrap();
        assert!(later.room("red").lookup::<Variable>("", "v").is_ok());
        assert!(later.lookup::<Variable>("", "v").is_err());
    }

    #[test]
    fn handles_without_names_stay_in_their_room() {
        let outside = Resources::new("ps");
        let red = outside.room("red");
        let kept = red.anonymous_handle("cpu", "v", Arc::new(Variable::new("v", DType::Float)));
        let forged = ResourceHandle { anchor: None, ..kept.clone() };
        assert!(red.get::<Variable>(&forged).is_ok());
        assert!(outside.get::<Variable>(&forged).is_err());
        assert!(outside.room("blue").get::<Variable>(&forged).is_err());
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
