import NestModel
import NestTestSupport
import Testing
import NestSchema

@testable import NestStore

/// A store of any model for directed tests, which use names instead of numbers.
final class NamedStore {
    let fixture: Fixture
    let model: ManagedObjectModel

    init(_ entities: EntityDraft..., tune: (inout Store.Configuration) -> Void = { _ in }) throws {
        self.model = try ModelDraft(entities: entities).compile()
        self.fixture = try Fixture(self.model) {
            $0.location = .memory
            tune(&$0)
        }
    }

    deinit {
        try? self.fixture.store.close()
    }

    var head: Revision { self.fixture.store.head }

    // MARK: Steps by name

    typealias Values = KeyValuePairs<String, MutationValue>

    func property(_ name: String, _ entity: EntityDescription) -> PropertyNumber {
        entity.propertyNumber(named: name) ?? PropertyNumber(9_999)
    }

    func entity(_ name: String) -> EntityDescription { self.model.entity(named: name)! }

    private func assignments(_ values: Values, _ entity: EntityDescription) -> [PropertyAssignment] {
        values.map { PropertyAssignment(self.property($0.key, entity), $0.value) }
    }

    func insertion(_ name: String, _ values: Values = [:]) -> Mutation {
        let entity = self.entity(name)
        return .insert(entity: entity.number, values: self.assignments(values, entity), placements: [])
    }

    /// `entity`: the entity of the object.
    func edit(_ object: ObjectReference, _ entity: String, _ values: Values) -> Mutation {
        .update(object, values: self.assignments(values, self.entity(entity)))
    }

    func search(_ name: String, _ match: Values, creating values: Values = [:]) -> Mutation {
        let entity = self.entity(name)
        return .findOrCreate(
            entity: entity.number,
            match: self.assignments(match, entity),
            values: self.assignments(values, entity),
            placements: []
        )
    }

    // MARK: Requests

    @discardableResult
    func perform(_ mutations: Mutation...) throws -> [ObjectID] {
        try self.run(mutations).resultIDs
    }

    @discardableResult
    func run(_ mutations: [Mutation]) throws -> (resultIDs: [ObjectID], runs: [Receipt.Run], changes: ChangeSet?) {
        var runs: [Receipt.Run] = []
        let changes = try self.fixture.commit { runs = try $0.perform(WriteTransaction(mutations: mutations)) }
        let store = self.fixture.store
        let broken = try StoredInvariants(store.layout).broken(in: store, head: store.head)
        #expect(broken.isEmpty)
        #expect(try self.graph().inverseFaults.isEmpty)
        return (runs.flatMap(\.ids), runs, changes)
    }

    func insert(_ name: String, _ values: Values = [:]) throws -> ObjectID {
        try self.perform(self.insertion(name, values))[0]
    }

    func update(_ id: ObjectID, _ values: Values) throws {
        try self.perform(.update(.object(id), values: self.assignments(values, try self.graph().entity(of: id))))
    }

    func delete(_ ids: ObjectID...) throws {
        try self.run(ids.map { .delete(.object($0)) })
    }

    func relate(_ owner: ObjectID, _ name: String, _ object: ObjectID, _ place: Place = .last) throws {
        try self.perform(.relate(.object(owner), try self.property(name, of: owner), .object(object), place))
    }

    func unrelate(_ owner: ObjectID, _ name: String, _ object: ObjectID) throws {
        try self.perform(.unrelate(.object(owner), try self.property(name, of: owner), .object(object)))
    }

    @discardableResult
    func set(_ owner: ObjectID, _ name: String, _ objects: [ObjectID]) throws -> ChangeSet? {
        try self.run([.setRelated(.object(owner), try self.property(name, of: owner), objects.map { .object($0) })])
            .changes
    }

    /// The faults of a refused request, as `Entity.property reason`, sorted.
    func faults(_ mutations: Mutation...) throws -> [String] {
        do {
            try self.run(mutations)
            Issue.record("not refused")
            return []
        } catch StoreError.refused(let error) {
            return error.faults.map { fault in
                let entity = self.model.entity(fault.entity)
                let property = fault.property.flatMap { entity?.propertyName($0) } ?? "?"
                return "\(entity?.name ?? "?").\(property) \(fault.reason)"
            }.sorted()
        }
    }

    // MARK: Reading

    func graph() throws -> NaiveGraph { try StoredState(self.fixture.store).graph }

    func property(_ name: String, of id: ObjectID) throws -> PropertyNumber {
        self.property(name, try self.graph().entity(of: id))
    }

    func related(_ id: ObjectID, _ name: String) throws -> [ObjectID] {
        try self.graph().related(id, try self.property(name, of: id))
    }

    func value(_ id: ObjectID, _ name: String) throws -> AttributeValue {
        try self.graph().value(id, try self.property(name, of: id))
    }

    var ids: [ObjectID] {
        get throws { try self.graph().objects.keys.sorted() }
    }
}

// MARK: Literals

extension MutationValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .value(.string(value)) }
    public init(integerLiteral value: Int64) { self = .value(.integer(value)) }
    public init(floatLiteral value: Double) { self = .value(.double(value)) }
    public init(booleanLiteral value: Bool) { self = .value(.boolean(value)) }
    public init(nilLiteral: ()) { self = .value(.null) }

    static func id(_ id: ObjectID) -> MutationValue { .value(.reference(id)) }
    /// The object that the step of this number, counted from 1, inserted or found.
    static func result(_ number: Int) -> MutationValue { .reference(.inserted(number)) }
}

extension EntityDraft {
    init(
        _ name: String,
        of parent: String? = nil,
        isAbstract: Bool = false,
        _ attributes: [AttributeDraft] = [],
        _ relationships: [RelationshipDraft] = [],
        unique: [[String]] = []
    ) {
        self.init(name: name)
        self.parent = parent
        self.isAbstract = isAbstract
        self.attributes = attributes
        self.relationships = relationships
        self.uniquenessConstraints = unique
    }
}

extension AttributeDraft {
    init(
        _ name: String,
        _ type: AttributeType = .string,
        _ change: (inout AttributeDraft) -> Void = { $0.isOptional = true }
    ) {
        self.init(name: name, type: type)
        change(&self)
    }
}

extension RelationshipDraft {
    enum Kind {
        case one, many, ordered
    }

    init(
        _ name: String,
        _ kind: Kind,
        _ destination: String,
        inverse: String,
        _ rule: DeleteRule = .nullify,
        _ change: (inout RelationshipDraft) -> Void = { _ in }
    ) {
        self.init(name: name, destination: destination, inverse: inverse)
        self.isToMany = kind != .one
        self.isOrdered = kind == .ordered
        self.deleteRule = rule
        change(&self)
    }
}
