import NestModel

/// A unit of work: changes are collected here and saved as one transaction, all or none.
///
///     let context = ObjectContext(client)
///     let ann = context.insert(user, [PropertyAssignment(name, .value(.string("Ann")))])
///     context.insert(phone, [PropertyAssignment(number, .value(.string("123"))), PropertyAssignment(owner, .reference(ann))])
///     try await context.save(name: "add Ann")
///     context.objectID(of: ann)
///
/// What `insert` and `findOrCreate` return is a **temporary reference**: it stands for the object in all later calls on this
/// context, before it is saved and after, and in no other context or transaction. A refused save leaves the changes as they
/// are: correct them, and save again.
///
/// Belongs to the actor (or task) that made it. While a save is under way it may be changed; what is added then is not part
/// of that save. Nothing is judged before it is saved.
public final class ObjectContext {
    public let client: NestClient

    struct Step {
        var mutation: Mutation
        /// The temporary reference to what an insert or find-or-create will make or find.
        var result: ObjectReference?
    }

    /// The object as the server knows it, behind a temporary reference.
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
    /// A transaction that was sent and whose outcome is not known; made of the first steps.
    var attempt: Attempt?
    var isSaving = false
    /// Where a property was last assigned, by step.
    private var assigned: [Assigned: Int] = [:]
    /// Values of steps before this one are not changed any more.
    private var foldStart = 0
    /// From a random start, so that references of one context mean nothing in another.
    private var nextNumber = Int.random(in: 1...1 << 30) << 32

    public init(_ client: NestClient) {
        self.client = client
    }

    /// Whether there is something to save.
    public var hasChanges: Bool { !self.steps.isEmpty }

    /// What will be saved, in this order, with temporary references.
    public var mutations: [Mutation] { self.steps.map(\.mutation) }

    /// The id behind a reference: that of an existing object, or of a temporary reference that was saved; `nil` until then.
    /// Remembered as long as the context lives, in about 60 bytes an object.
    public func objectID(of object: ObjectReference) -> ObjectID? {
        object.rawValue > 0 ? ObjectID(object.rawValue) : self.saved[object]?.id
    }

    /// Whether a saved `findOrCreate` has found its object, and not made it; `nil` until it is saved.
    public func isFound(_ object: ObjectReference) -> Bool? { self.saved[object]?.isFound }

    // MARK: Changes

    @discardableResult
    public func insert(
        _ entity: EntityNumber,
        _ values: [PropertyAssignment] = [],
        at placements: [Placement] = []
    ) -> ObjectReference {
        let object = self.newReference()
        self.append(.insert(entity: entity, values: values, placements: placements), result: object)
        return object
    }

    /// The first object of the entity whose properties equal all of `match`; inserted with `match` and `values` when there is
    /// none. One that is found is not changed by `values`.
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
    /// An attribute that an unsaved `insert` or `set` has given a value gets the new one in its place, so that a value which
    /// was refused is not sent again.
    public func set(_ object: ObjectReference, _ property: PropertyNumber, to value: MutationValue) {
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

    public func move(_ object: ObjectReference, to placement: Placement) {
        self.append(.move(object, placement))
    }

    /// Deletes an object with everything its delete rules reach.
    public func delete(_ object: ObjectReference) {
        self.append(.delete(object))
    }

    /// Puts an object among those that a to-many relationship of `owner` leads to.
    public func relate(
        _ owner: ObjectReference,
        _ relationship: PropertyNumber,
        to object: ObjectReference,
        at place: Place = .last
    ) {
        self.append(.relate(owner, relationship, object, place))
    }

    /// Takes an object out of a to-many relationship of `owner`.
    public func unrelate(_ owner: ObjectReference, _ relationship: PropertyNumber, from object: ObjectReference) {
        self.append(.unrelate(owner, relationship, object))
    }

    /// Makes a to-many relationship of `owner` lead to these objects and no others.
    public func setRelated(_ owner: ObjectReference, _ relationship: PropertyNumber, to objects: [ObjectReference]) {
        self.append(.setRelated(owner, relationship, objects))
    }

    /// Saves only if the object has not changed since `revision`, or else is refused with `conflict`. Said again for the
    /// same object, the later revision counts.
    public func require(_ object: ObjectID, unchangedSince revision: Revision) {
        self.preconditions[object] = revision
    }

    // MARK: Taking back

    /// Forgets all changes and preconditions. What a save under way is carrying out stays until its answer is there.
    public func rollback() {
        if !self.isSaving { self.attempt = nil }
        self.preconditions = [:]
        self.keep { _ in false }
    }

    /// Forgets the unsaved changes of one object, its insert included, that no save under way is carrying out. A change of
    /// another object that refers to one whose insert is forgotten has to be forgotten as well: `save` says so.
    public func discardChanges(of object: ObjectReference) {
        // One that is saved has two names.
        func name(_ object: ObjectReference?) -> ObjectReference? {
            object.map { self.objectID(of: $0).map { .object($0) } ?? $0 }
        }
        let discarded = name(object)
        self.keep { name($0.result ?? $0.mutation.subject) != discarded }
    }

    /// Drops the first steps: they are saved.
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

    /// Finds again where values may still be changed. Called when steps go, and when some are sent.
    func index() {
        self.assigned = [:]
        self.foldStart = self.attempt?.stepCount ?? 0
        for step in self.steps.indices.dropFirst(self.foldStart) { self.index(step) }
    }

    private func index(_ step: Int) {
        switch self.steps[step].mutation {
        case .insert(_, let values, _):
            guard let object = self.steps[step].result else { return }
            for value in values { self.assigned[Assigned(object: object, property: value.property)] = step }
        case .update(let object, let values):
            for value in values { self.assigned[Assigned(object: object, property: value.property)] = step }
        case .findOrCreate, .delete:
            // What it finds or reaches may depend on the values that were set before it.
            self.foldStart = step + 1
        case .move, .relate, .unrelate, .setRelated: break
        }
    }

    /// Replaces the value that an attribute was last given. `false` when that would not be the same as setting it now.
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
        case .update(let object, var values):
            guard replace(in: &values) else { return false }
            self.steps[step].mutation = .update(object, values: values)
        default: return false
        }
        return true
    }
}

extension MutationValue {
    /// Certainly a value of an attribute; null may be of a relationship too.
    fileprivate var isOfAttribute: Bool {
        guard case .value(let value) = self else { return false }
        return !value.isNull && value.referenceValue == nil
    }

    fileprivate var isNull: Bool {
        guard case .value(let value) = self else { return false }
        return value.isNull
    }
}
