import NestModel

/// A unit of work: it collects changes and saves them as one transaction, all or none.
///
///     let context = ObjectContext(client)
///     let ann = try context.insert(user, ["name": "Ann", "born": date])
///     try context.insert(phone, ["number": "123", "owner": ann])
///     try await context.save(name: "add Ann")
///     context.objectID(of: ann)
///
/// `insert` and `findOrCreate` return a **temporary reference**. It identifies the object in all later calls on this
/// context, before and after saving, but not in other contexts or transactions. If a save is refused, the context keeps
/// the changes: correct them, and save again.
///
/// A context belongs to the actor or task that created it. It may be changed during a save; these changes are not part
/// of that save. Changes are not validated before they are saved.
public final class ObjectContext {
    public let client: NestClient
    /// The model in which generated types are looked up; `nil`: the caller names their entities.
    let model: ManagedObjectModel?

    struct Step {
        var mutation: Mutation
        /// The temporary reference to the object that an insert or find-or-create will insert or find.
        var result: ObjectReference?
    }

    /// The object on the server that belongs to a temporary reference.
    struct Saved {
        var id: ObjectID
        var isFound: Bool
    }

    private struct Assigned: Hashable {
        var object: ObjectReference
        var property: PropertyNumber
    }

    private(set) var steps: [Step] = []
    var preconditions: [ObjectID: Revision] = [:]
    var saved: [ObjectReference: Saved] = [:]
    /// A transaction that was sent and whose outcome is unknown. It consists of the first steps.
    var attempt: Attempt?
    var isSaving = false
    /// The step that last assigned a property.
    private var assigned: [Assigned: Int] = [:]
    /// The first step whose values may still be replaced.
    private var foldStart = 0
    /// Starts with a random number, so that references of one context are not valid in another.
    private var nextNumber = Int.random(in: 1...1 << 30) << 32

    public init(_ client: NestClient) {
        self.client = client
        self.model = nil
    }

    /// See `NestClient.context()`.
    init(_ client: NestClient, model: ManagedObjectModel) {
        self.client = client
        self.model = model
    }

    /// Whether there are changes to save.
    public var hasChanges: Bool { !self.steps.isEmpty }

    /// The changes in the order in which they will be saved, with temporary references.
    public var mutations: [Mutation] { self.steps.map(\.mutation) }

    /// Returns the id of an existing object, or of a temporary reference that was saved. Returns `nil` before that. The
    /// context keeps the ids of its saved objects, about 60 bytes an object.
    public func objectID(of object: some ObjectReferring) -> ObjectID? {
        let object = object.objectReference
        return object.rawValue > 0 ? ObjectID(object.rawValue) : self.saved[object]?.id
    }

    /// Whether a saved `findOrCreate` has found its object instead of inserting it. `nil` before it is saved.
    public func isFound(_ object: some ObjectReferring) -> Bool? { self.saved[object.objectReference]?.isFound }

    // MARK: Changes

    /// Inserts an object. `id`: one that the client has reserved with `reserveIDs` and not used yet; `nil`: the server
    /// gives one.
    @discardableResult
    public func insert(
        _ entity: EntityNumber,
        _ values: [PropertyAssignment] = [],
        at placements: [Placement] = [],
        as id: ObjectID? = nil
    ) -> ObjectReference {
        let object = self.newReference()
        let insert: Mutation =
            if let id {
                .insertAs(id, entity: entity, values: values, placements: placements)
            } else {
                .insert(entity: entity, values: values, placements: placements)
            }
        self.append(insert, result: object)
        return object
    }

    /// Finds the first object of the entity whose properties equal all of `match`. If there is none, inserts one with
    /// `match` and `values`. `values` do not change an object that is found.
    @discardableResult
    public func findOrCreate(
        _ entity: EntityNumber,
        matching match: [PropertyAssignment],
        _ values: [PropertyAssignment] = [],
        at placements: [Placement] = []
    ) -> ObjectReference {
        let object = self.newReference()
        let mutation = Mutation.findOrCreate(entity: entity, match: match, values: values, placements: placements)
        self.append(mutation, result: object)
        return object
    }

    /// Sets an attribute or a to-one relationship.
    ///
    /// If an unsaved `insert` or `set` has assigned the attribute, the new value replaces that one, so that a refused
    /// value is not sent again.
    public func set(_ object: some ObjectReferring, _ property: PropertyNumber, to value: MutationValue) {
        let object = object.objectReference
        guard !self.fold(object, property, value) else { return }
        let assignment = PropertyAssignment(property, value)
        if let last = self.steps.indices.last, last >= self.foldStart,
            case .update(object, var values) = self.steps[last].mutation,
            !values.contains(where: { $0.property == property })
        {
            values.append(assignment)
            self.steps[last].mutation = .update(object, values: values)
            self.assigned[Assigned(object: object, property: property)] = last
        } else {
            self.append(.update(object, values: [assignment]))
        }
    }

    public func move(_ object: some ObjectReferring, to placement: Placement) {
        self.append(.move(object.objectReference, placement))
    }

    /// Deletes an object and everything that its delete rules reach.
    public func delete(_ object: some ObjectReferring) {
        self.append(.delete(object.objectReference))
    }

    /// Adds an object to a to-many relationship of `owner`.
    public func relate(
        _ owner: some ObjectReferring,
        _ relationship: PropertyNumber,
        to object: some ObjectReferring,
        at place: Place = .last
    ) {
        self.append(.relate(owner.objectReference, relationship, object.objectReference, place))
    }

    /// Removes an object from a to-many relationship of `owner`.
    public func unrelate(
        _ owner: some ObjectReferring,
        _ relationship: PropertyNumber,
        from object: some ObjectReferring
    ) {
        self.append(.unrelate(owner.objectReference, relationship, object.objectReference))
    }

    /// Replaces the objects of a to-many relationship of `owner`.
    public func setRelated(
        _ owner: some ObjectReferring,
        _ relationship: PropertyNumber,
        to objects: [any ObjectReferring]
    ) {
        self.append(.setRelated(owner.objectReference, relationship, objects.map(\.objectReference)))
    }

    /// Makes the save fail with `conflict` if the object has changed since `revision`. Another call for the same object
    /// replaces the revision.
    public func require(_ object: ObjectID, unchangedSince revision: Revision) {
        self.preconditions[object] = revision
    }

    // MARK: Discarding

    /// Discards all changes and preconditions. The steps of a save that is under way stay until its answer arrives.
    public func rollback() {
        if !self.isSaving { self.attempt = nil }
        self.preconditions = [:]
        self.keep { _ in false }
    }

    /// Discards the unsaved changes of one object, including its insert, except the steps of a save that is under way.
    /// Changes of other objects that refer to a discarded insert must be discarded too; otherwise `save` throws.
    public func discardChanges(of object: some ObjectReferring) {
        // A saved object has two references.
        func name(_ object: ObjectReference?) -> ObjectReference? {
            object.map { self.objectID(of: $0).map { .object($0) } ?? $0 }
        }
        let discarded = name(object.objectReference)
        self.keep { name($0.result ?? $0.mutation.subject) != discarded }
    }

    /// Removes the first steps, because they are saved.
    func dropFirst(_ count: Int) {
        self.steps.removeFirst(count)
        self.index()
    }

    private func keep(_ isKept: (Step) -> Bool) {
        let sent = self.attempt?.stepCount ?? 0
        self.steps = self.steps[..<sent] + self.steps[sent...].filter(isKept)
        self.index()
    }

    // MARK: Steps

    private func newReference() -> ObjectReference {
        defer { self.nextNumber += 1 }
        return .inserted(self.nextNumber)
    }

    private func append(_ mutation: Mutation, result: ObjectReference? = nil) {
        self.steps.append(Step(mutation: mutation, result: result))
        self.index(self.steps.count - 1)
    }

    /// Finds the values that may still be replaced. Called when steps are removed or sent.
    func index() {
        self.assigned = [:]
        self.foldStart = self.attempt?.stepCount ?? 0
        for step in self.steps.indices.dropFirst(self.foldStart) { self.index(step) }
    }

    private func index(_ step: Int) {
        switch self.steps[step].mutation {
        case .insert(_, let values, _), .insertAs(_, _, let values, _):
            guard let object = self.steps[step].result else { return }
            for value in values { self.assigned[Assigned(object: object, property: value.property)] = step }
        case .update(let object, let values):
            for value in values { self.assigned[Assigned(object: object, property: value.property)] = step }
        case .findOrCreate, .delete:
            // The object that it finds, or the objects that it deletes, may depend on values that were set before it.
            self.foldStart = step + 1
        case .move, .relate, .unrelate, .setRelated: break
        }
    }

    /// Replaces the value that an attribute was last assigned. Returns `false` if this would differ from assigning it
    /// now.
    private func fold(_ object: ObjectReference, _ property: PropertyNumber, _ value: MutationValue) -> Bool {
        guard let step = self.assigned[Assigned(object: object, property: property)], step >= self.foldStart else {
            return false
        }
        func replace(in values: inout [PropertyAssignment]) -> Bool {
            guard let index = values.lastIndex(where: { $0.property == property }) else { return false }
            guard value.isOfAttribute || (value.isNull && values[index].value.isOfAttribute) else { return false }
            values[index].value = value
            return true
        }
        switch self.steps[step].mutation {
        case .insert(let entity, var values, let placements):
            guard replace(in: &values) else { return false }
            self.steps[step].mutation = .insert(entity: entity, values: values, placements: placements)
        case .insertAs(let id, let entity, var values, let placements):
            guard replace(in: &values) else { return false }
            self.steps[step].mutation = .insertAs(id, entity: entity, values: values, placements: placements)
        case .update(let object, var values):
            guard replace(in: &values) else { return false }
            self.steps[step].mutation = .update(object, values: values)
        default: return false
        }
        return true
    }
}

extension MutationValue {
    /// Whether this is certainly a value of an attribute. Null may also belong to a relationship.
    fileprivate var isOfAttribute: Bool {
        guard case .value(let value) = self else { return false }
        return !value.isNull && value.referenceValue == nil
    }

    fileprivate var isNull: Bool {
        guard case .value(let value) = self else { return false }
        return value.isNull
    }
}
