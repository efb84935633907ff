import NestClient
import NestDocuments
import NestModel

/// Builds a transaction from steps, one JSON object each. Names of entities and properties become numbers, and names of
/// earlier steps become references.
struct TransactionScript {
    /// An insert or find-or-create, in the order of the receipt's results.
    struct Result {
        /// The name that the script gives the object with "as".
        var name: String?
    }

    private let model: ManagedObjectModel
    private let client: NestClient
    private(set) var preconditions: [Precondition] = []
    private(set) var mutations: [Mutation] = []
    private(set) var results: [Result] = []
    private var named: [String: (reference: ObjectReference, entity: EntityDescription)] = [:]
    /// The entities of existing objects.
    private var entities: [ObjectID: EntityDescription] = [:]

    init(model: ManagedObjectModel, client: NestClient) {
        self.model = model
        self.client = client
    }

    /// The fields of each kind of step. The first field names the kind.
    private static let forms: [[String]] = [
        ["insert", "values", "place", "in", "as"], ["findOrCreate", "match", "values", "place", "in", "as"],
        ["update", "values"], ["relate", "relationship", "objects", "place"],
        ["unrelate", "relationship", "objects"], ["delete"], ["expect", "revision"],
    ]

    mutating func add(_ members: [JSONElement.Member]) async throws {
        guard let form = Self.forms.first(where: { form in members.contains { $0.name == form[0] } }) else {
            let names = Self.forms.map { "\"\($0[0])\"" }.joined(separator: ", ")
            throw CommandFailure(.usage, "a step needs one of \(names)")
        }
        if let stray = members.first(where: { !form.contains($0.name) }) {
            let names = form.dropFirst().map { "\"\($0)\"" }.joined(separator: ", ")
            let fields = names.isEmpty ? "no other fields" : "the fields \(names)"
            throw CommandFailure(.usage, "\"\(form[0])\" takes \(fields), not \"\(stray.name)\"")
        }
        var fields: [String: JSONElement] = [:]
        for member in members { fields[member.name] = member.value }
        let subject = fields[form[0]]!
        switch form[0] {
        case "insert": try await self.insert(subject, fields)
        case "findOrCreate": try self.findOrCreate(subject, fields)
        case "update":
            let (object, entity) = try await self.object(subject)
            self.mutations += try self.values(fields["values"], entity).updatingSteps(of: object)
        case "relate", "unrelate": try await self.relate(subject, fields, isRelating: form[0] == "relate")
        case "delete": self.mutations.append(.delete(try self.reference(subject, "delete")))
        default: try self.expect(subject, fields)
        }
    }

    // MARK: Steps

    private mutating func insert(_ subject: JSONElement, _ fields: [String: JSONElement]) async throws {
        let entity = try self.model.requireConcreteEntity(try Self.text(subject, "insert"))
        var values = try self.values(fields["values"], entity)
        values.complete(with: await StartObject.owner(of: entity, in: self.model, self.client))
        let placements = try self.placements(&values, fields, entity)
        self.mutations.append(.insert(entity: entity.number, values: values.assignments, placements: placements))
        try self.addResult(fields["as"], entity, values)
    }

    private mutating func findOrCreate(_ subject: JSONElement, _ fields: [String: JSONElement]) throws {
        let entity = try self.model.requireEntity(try Self.text(subject, "findOrCreate"))
        let match = try self.values(fields["match"], entity)
        var values = try self.values(fields["values"], entity)
        guard match.related.isEmpty, values.related.isEmpty else {
            throw CommandFailure(.usage, "\"findOrCreate\" takes no to-many relationships: use \"relate\"")
        }
        let placements = try self.placements(&values, fields, entity)
        self.mutations.append(
            .findOrCreate(
                entity: entity.number,
                match: match.assignments,
                values: values.assignments,
                placements: placements
            )
        )
        try self.addResult(fields["as"], entity, values)
    }

    private mutating func addResult(_ name: JSONElement?, _ entity: EntityDescription, _ values: ObjectValues) throws {
        var result = Result()
        let reference = ObjectReference.inserted(self.results.count + 1)
        if let name {
            let text = try Self.text(name, "as")
            guard self.named.updateValue((reference, entity), forKey: text) == nil else {
                throw CommandFailure(.usage, "two steps have the name \"\(text)\"")
            }
            result.name = text
        }
        self.results.append(result)
        self.mutations += values.relatingSteps(of: reference)
    }

    private mutating func relate(_ subject: JSONElement, _ fields: [String: JSONElement], isRelating: Bool) async throws
    {
        let (owner, entity) = try await self.object(subject)
        guard let name = fields["relationship"], let objects = fields["objects"] else {
            throw CommandFailure(.usage, "the step needs \"relationship\" and \"objects\"")
        }
        let relationship = try entity.requireToMany(try Self.text(name, "relationship")).number
        var list = [objects]
        if case .array(let elements) = objects { list = elements }
        let first = try self.place(fields["place"])
        var previous: ObjectReference?
        for element in list {
            let object = try self.reference(element, "objects")
            if isRelating {
                // The other objects follow the first one, in order.
                let place = first == .last ? first : previous.map { .after($0) } ?? first
                self.mutations.append(.relate(owner, relationship, object, place))
                previous = object
            } else {
                self.mutations.append(.unrelate(owner, relationship, object))
            }
        }
    }

    private mutating func expect(_ subject: JSONElement, _ fields: [String: JSONElement]) throws {
        guard case .number(let id) = subject, let object = IDArgument(argument: id),
            case .number(let digits)? = fields["revision"], let revision = RevisionArgument(argument: digits)
        else { throw CommandFailure(.usage, "\"expect\" must be an id, and \"revision\" a number") }
        self.preconditions.append(Precondition(object: object.id, revision: revision.revision))
    }

    // MARK: Parts

    private func values(_ json: JSONElement?, _ entity: EntityDescription) throws -> ObjectValues {
        guard let json else { return try ObjectValues([] as [String], entity) }
        guard case .object(let members) = json else {
            throw CommandFailure(.usage, "\"values\" and \"match\" must be objects, not \(json.typeName)")
        }
        return try ObjectValues(members, entity, reference: self.reference)
    }

    private func placements(
        _ values: inout ObjectValues,
        _ fields: [String: JSONElement],
        _ entity: EntityDescription
    ) throws -> [Placement] {
        guard let json = fields["place"] else {
            if fields["in"] != nil { throw CommandFailure(.usage, "\"in\" needs a \"place\"") }
            return []
        }
        let relationship = try fields["in"].map { try Self.text($0, "in") }
        let place = try self.place(json)
        return [try values.takePlacement(at: place, in: relationship, entity, self.model)]
    }

    /// `"first"`, `"last"`, `{"at":3}`, `{"before":7}`, `{"after":"name"}`.
    private func place(_ json: JSONElement?) throws -> Place {
        switch json {
        case nil: return .last
        case .string("first"): return .first
        case .string("last"): return .last
        case .object(let members) where members.count == 1:
            switch (members[0].name, members[0].value) {
            case ("at", .number(let digits)):
                if let index = Int(digits), index >= 0 { return .at(index) }
            case ("before", let element): return .before(try self.reference(element, "before"))
            case ("after", let element): return .after(try self.reference(element, "after"))
            default: break
            }
        default: break
        }
        throw CommandFailure(
            .usage,
            "\"place\" must be \"first\", \"last\", {\"at\":3}, {\"before\":ID} or {\"after\":ID}"
        )
    }

    /// Returns the object with an id, or the object of an earlier step with this name.
    private func reference(_ json: JSONElement, _ field: String) throws -> ObjectReference {
        guard case .string(let name) = json else { return try ObjectValues.reference(json, field) }
        guard let named = self.named[name] else {
            throw CommandFailure(.usage, "\(field): no earlier step has the name \"\(name)\"")
        }
        return named.reference
    }

    /// Returns an object and its entity. Asks the server for the entity of an existing object.
    private mutating func object(_ json: JSONElement) async throws -> (ObjectReference, EntityDescription) {
        if case .string(let name) = json, let named = self.named[name] { return (named.reference, named.entity) }
        let reference = try self.reference(json, "the step")
        let id = ObjectID(reference.rawValue)
        if let entity = self.entities[id] { return (reference, entity) }
        let entity = try self.model.entity(of: try await self.client.object(id))
        self.entities[id] = entity
        return (reference, entity)
    }

    private static func text(_ json: JSONElement, _ field: String) throws -> String {
        guard case .string(let text) = json else {
            throw CommandFailure(.usage, "\"\(field)\" must be a string, not \(json.typeName)")
        }
        return text
    }
}
