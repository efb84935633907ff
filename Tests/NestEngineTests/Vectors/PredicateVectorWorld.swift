import NestEngine
import NestModel
import NestSchema
import NestStore
import NestTestSupport
import Testing

/// A store with the objects of `VectorWorld`, and the results of all predicates, which were subscribed to before there
/// were objects.
final class PredicateVectorWorld {
    private let fixture: EngineFixture
    let naive: NaiveResults
    private var live: [ObjectFetchRequest: Set<ObjectID>] = [:]

    init() throws {
        self.fixture = try EngineFixture(model: VectorWorld.model, isVolatile: true)
        var predicates = try PredicateVectorCases.all.map { ($0.entity, try Self.read($0)) }
        predicates += PredicateVectorCases.programs.map { ("Person", $0.predicate) }
        var requests: [ObjectFetchRequest] = []
        for (entity, predicate) in predicates {
            let request = Self.request(entity, predicate)
            if !requests.contains(request) { requests.append(request) }
        }
        var clients: [SimulatedClient] = []
        for (index, request) in requests.enumerated() {
            if index % 50 == 0 { clients.append(try self.fixture.connect(session: UInt64(index + 1))) }
            let input = clients[clients.count - 1].subscribe(request)
            try self.fixture.perform([input])
        }
        try self.fixture.write(clients[0], VectorWorld.mutations)
        self.naive = try NaiveResults(self.fixture.store)
        for client in clients {
            for (request, subscription) in client.subscriptions {
                let state = try #require(subscription.state)
                self.live[request] = Set(state.sections.flatMap { $0.rows.map(\.id) })
            }
        }
        #expect(self.live.count == requests.count)
    }

    static func read(_ vector: PredicateVectorCases.Case) throws -> FetchPredicate {
        let entity = try #require(VectorWorld.model.entity(named: vector.entity))
        let dates = try #require(DateReading(zone: vector.zone, now: vector.now))
        return try FetchPredicate(vector.text, of: entity, in: VectorWorld.model, dates: dates)
    }

    private static func request(_ entity: String, _ predicate: FetchPredicate) -> ObjectFetchRequest {
        let name = VectorWorld.model.entity(named: entity)!.attributes[0].number
        return ObjectFetchRequest(
            entity: VectorWorld.model.number(entity),
            projection: [name],
            predicate: predicate
        )
    }

    /// The ids of each entity's objects.
    var rows: JSONValue {
        .object(
            Dictionary(
                uniqueKeysWithValues: VectorWorld.model.entities.map { entity in
                    (entity.name, JSONValue(list: self.naive.objects(of: entity.number).map { .integer($0.rawValue) }))
                }
            )
        )
    }

    func vector(_ vector: PredicateVectorCases.Case) throws -> JSONValue {
        let predicate = try Self.read(vector)
        let entity = try #require(VectorWorld.model.entity(named: vector.entity))
        #expect(predicate.canonical == predicate, "\(vector.text)")
        let canonical = predicate.text(of: entity, in: VectorWorld.model)
        #expect(try FetchPredicate(canonical, of: entity, in: VectorWorld.model) == predicate, "\(vector.text)")
        var members: [String: JSONValue] = [
            "entity": .string(vector.entity), "text": .string(vector.text), "canonical": .string(canonical),
            "bytes": .string(try Self.hex(predicate)),
            "truth": try self.truth(of: predicate, vector.entity, vector.text),
        ]
        if !vector.zone.isEmpty { members["zone"] = .string(vector.zone) }
        if vector.now != 0 { members["now"] = .integer(vector.now) }
        if predicate.allComparisons.contains(where: { $0.operator == .matches }) { members["regex"] = true }
        if predicate.allComparisons.contains(where: { $0.path.leaf.isAggregate }) { members["function"] = true }
        return .object(members)
    }

    func vector(_ program: (name: String, predicate: FetchPredicate)) throws -> JSONValue {
        let canonical = try #require(program.predicate.canonical)
        return [
            "name": .string(program.name), "entity": "Person", "bytes": .string(try Self.hex(program.predicate)),
            "canonical": .string(try Self.hex(canonical)),
            "truth": try self.truth(of: program.predicate, "Person", program.name),
        ]
    }

    /// Returns the bytes, which decode to an equal predicate.
    private static func hex(_ predicate: FetchPredicate) throws -> String {
        var writer = ByteWriter()
        writer.write(predicate: predicate)
        let read = try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in try reader.predicate() }
        #expect(read == predicate)
        return Hex.text(writer.bytes)
    }

    private func truth(of predicate: FetchPredicate, _ entity: String, _ what: String) throws -> JSONValue {
        let request = Self.request(entity, predicate)
        let (_, rows, _) = try #require(
            try FetchCheck.fetch(request, self.fixture.engine, self.fixture.store.reader, now: self.fixture.now)
        )
        let fetched = Set(rows.map(\.id))
        let live = try #require(self.live[request])
        let ids = self.naive.objects(of: request.entity)
        #expect(fetched == live, "\(what): a fetch and a live result disagree")
        let isExpression = predicate.allComparisons.contains { $0.operator == .matches }
        for id in ids where !isExpression || self.isComposed(id) {
            #expect(
                fetched.contains(id) == self.naive.isTrue(predicate, of: id),
                "\(what): the oracle disagrees on \(id)"
            )
        }
        return JSONValue(list: ids.map { .bool(fetched.contains($0)) })
    }
    /// Whether each character of the object's name is one scalar. Swift's regular expressions, which the oracle uses,
    /// take a letter and its mark for one character.
    private func isComposed(_ id: ObjectID) -> Bool {
        let name = self.naive.value(PropertyNumber(1), of: id).stringValue ?? ""
        return name.count == name.unicodeScalars.count
    }
}

extension PropertyPath.Leaf {
    fileprivate var isAggregate: Bool { if case .aggregate = self { true } else { false } }
}
