import NestProtocol
import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestSchema

/// Two users, Ann and Bob, and short functions for tests of undo with changes by others.
final class Orchard {
    let fixture: EngineFixture
    let ann: SimulatedClient
    let bob: SimulatedClient
    private let model: ManagedObjectModel

    init() throws {
        self.model = try ModelDraft.orchard.compile()
        self.fixture = try EngineFixture(model: self.model, isVolatile: true)
        self.ann = try self.fixture.connect(session: 1)
        self.bob = try self.fixture.connect(session: 2)
    }

    // MARK: Writing

    private func assignment(_ entity: String, _ name: String, _ value: Any?) -> PropertyAssignment {
        let property = self.model.number(entity, name)
        switch value {
        case let text as String: return PropertyAssignment(property, .value(.string(text)))
        case let id as ObjectID: return PropertyAssignment(property, .reference(.object(id)))
        default: return PropertyAssignment(property, .value(.null))
        }
    }

    private func entity(of id: ObjectID) throws -> EntityDescription {
        let detail = try #require(try self.fixture.store.access { try self.fixture.store.detail(id) })
        return try #require(self.model.entity(detail.entity))
    }

    static func insert(_ entity: String, _ values: [String: Any?], in orchard: Orchard) -> Mutation {
        .insert(
            entity: orchard.model.number(entity),
            values: values.sorted { $0.key < $1.key }.map { orchard.assignment(entity, $0.key, $0.value) },
            placements: []
        )
    }

    @discardableResult
    func insert(_ client: SimulatedClient, _ entity: String, _ values: [String: Any?]) throws -> ObjectID {
        try #require(try self.fixture.write(client, [Self.insert(entity, values, in: self)]).firstInserted)
    }

    func set(_ client: SimulatedClient, _ id: ObjectID, _ name: String, _ value: Any?) throws {
        let entity = try self.entity(of: id).name
        try self.fixture.write(client, [.update(.object(id), values: [self.assignment(entity, name, value)])])
    }

    /// Moves a node under another parent, or to another position under the same parent.
    func move(_ client: SimulatedClient, _ id: ObjectID, under owner: ObjectID, _ place: Place = .last) throws {
        let parent = self.model.number("Node", "parent")
        let placement = Placement(relationship: parent, owner: .object(owner), place: place)
        try self.fixture.write(client, [.move(.object(id), placement)])
    }

    func delete(_ client: SimulatedClient, _ id: ObjectID) throws {
        try self.fixture.write(client, [.delete(.object(id))])
    }

    func tag(_ client: SimulatedClient, _ node: ObjectID, _ tag: ObjectID, _ place: Place = .last) throws {
        let step = Mutation.relate(.object(node), self.model.number("Node", "tags"), .object(tag), place)
        try self.fixture.write(client, [step])
    }

    func untag(_ client: SimulatedClient, _ node: ObjectID, _ tag: ObjectID) throws {
        try self.fixture.write(client, [.unrelate(.object(node), self.model.number("Node", "tags"), .object(tag))])
    }

    // MARK: Taking back

    func take(_ request: EngineRequest, _ client: SimulatedClient) throws -> EngineReply {
        try self.fixture.ask(client, request)
    }

    func undo(_ client: SimulatedClient, _ options: UndoOptions = UndoOptions()) throws -> String {
        try self.words(self.take(.undo(key: nil, options), client))
    }

    func redo(_ client: SimulatedClient, _ options: UndoOptions = UndoOptions()) throws -> String {
        try self.words(self.take(.redo(key: nil, options), client))
    }

    /// Returns `done`, `nothing` or the code of a refusal, followed by the conflicts: `done: edited title`.
    func words(_ reply: EngineReply) throws -> String {
        if let error = reply.error { return "\(error.code)" }
        let receipt = try #require(reply.receipt)
        let conflicts = receipt.conflicts.listed.map { conflict in
            let entity = self.model.entity(conflict.entity)
            let property = conflict.property.flatMap { entity?.propertyName($0) }
            return property.map { "\(conflict.reason) \($0)" } ?? "\(conflict.reason)"
        }
        let result = receipt.isChanged ? "done" : "nothing"
        return conflicts.isEmpty ? result : "\(result): \(conflicts.joined(separator: ", "))"
    }

    // MARK: Looking

    func value(_ id: ObjectID, _ name: String) throws -> AttributeValue? {
        guard let detail = try self.fixture.store.access({ try self.fixture.store.detail(id) }) else { return nil }
        let property = self.model.entity(detail.entity)?.propertyNumber(named: name)
        return detail.values.first { $0.property == property }?.value
    }

    func text(_ id: ObjectID, _ name: String) throws -> String {
        switch try self.value(id, name) {
        case .string(let text): text
        case .reference(let other): try self.title(other)
        case nil: "gone"
        default: "-"
        }
    }

    /// Returns the title, name or number of an object.
    private func title(_ id: ObjectID) throws -> String {
        for name in ["title", "name", "number"] {
            if case .string(let text) = try self.value(id, name) { return text }
        }
        return "\(id)"
    }

    /// Returns the titles of a to-many relationship's objects: `a b c`.
    func list(_ id: ObjectID, _ name: String) throws -> String {
        let store = self.fixture.store
        guard let found = try store.access({ try store.object(id) }) else { return "gone" }
        let property = try #require(self.model.entity(found.row.entity)?.propertyNumber(named: name))
        let request = ObjectFetchRequest(
            entity: try #require(self.model.entity(found.row.entity)?.relationship(property)).destination,
            source: FetchSource(object: id, relationship: property)
        )
        guard case .snapshot(_, let bodies, _) = try self.take(.fetch(request, atLeast: Revision(0)), self.bob) else {
            return "not fetched"
        }
        let count = try #require(self.model.entity(request.entity)).storedProperties.count
        let rows = try bodies.flatMap { body in
            try ByteReader.read(body.bytes) { (reader) throws(DecodingFailure) in try reader.rows(valueCount: count) }
        }
        return try rows.map { try self.title($0.id) }.joined(separator: " ")
    }
}

extension Orchard {
    /// The expected result of a policy: the answer, and the state after it.
    typealias Outcome = (answer: String, left: String)

    /// Runs a story once for each policy. In the story Ann changes something, and then Bob does. Then Ann undoes her
    /// change. A refused undo changes nothing. Her redo reverts a successful undo without a conflict.
    ///
    /// - Parameter story: Performs the changes. Returns a function that describes the state.
    static func check(
        keep: Outcome,
        force: Outcome,
        strict: Outcome,
        rehome: Outcome? = nil,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ story: (Orchard) throws -> () throws -> String
    ) throws {
        let rows: [(UndoOptions, Outcome?)] = [
            (UndoOptions(policy: .keep), keep), (UndoOptions(policy: .force), force),
            (UndoOptions(policy: .strict), strict), (UndoOptions(policy: .keep, rehomes: true), rehome),
        ]
        for case (let options, let expected?) in rows {
            let orchard = try Orchard()
            let look = try story(orchard)
            let (before, head) = (try look(), orchard.fixture.store.head)
            let comment: Comment = "\(options.policy)\(options.rehomes ? ", rehome" : "")"
            let answer = try orchard.undo(orchard.ann, options)
            #expect(answer == expected.answer, comment, sourceLocation: sourceLocation)
            #expect(try look() == expected.left, comment, sourceLocation: sourceLocation)
            if answer.hasPrefix("done") {
                #expect(try orchard.redo(orchard.ann, UndoOptions(policy: .strict)) == "done", comment)
            } else {
                #expect(orchard.fixture.store.head == head, comment, sourceLocation: sourceLocation)
            }
            #expect(try look() == before, comment, sourceLocation: sourceLocation)
        }
    }
}
