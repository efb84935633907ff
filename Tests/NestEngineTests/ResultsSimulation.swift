import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// Results of every kind by seed, over models with inheritance and relationships of every kind: random writes, several clients
/// that subscribe, lag, leave and return; after every batch everybody holds what a naive search and sort of the store finds,
/// and so does a fresh fetch.
final class ResultsSimulation {
    private let seed: UInt64
    private var random: SeededRandom
    private let directory = TemporaryDirectory()
    private var configuration: Store.Configuration
    private let differenceRowsMin: Int
    private let model: ManagedObjectModel
    private var engine: Engine
    private var store: Store
    private var naive: NaiveResults
    private var clients: [SimulatedClient] = []
    private(set) var followers: ChangeFollowers
    private var nextConnection: UInt64 = 1
    private var now: Int64 = 1_000_000
    private(set) var step = 0
    /// A few values of each attribute type, so that rows tie and return.
    private var pool: [AttributeType: [AttributeValue]] = [:]

    private(set) var done = 0
    private(set) var refused = 0
    /// Subscriptions by what their rows are of.
    private(set) var counts: [String: Int] = [:]
    var diffs: Int { self.clients.reduce(0) { $0 + $1.diffs } }
    var moves: Int { self.clients.reduce(0) { $0 + $1.moves } }

    init(seed: UInt64) throws {
        self.seed = seed
        self.random = SeededRandom(seed: seed)
        self.model = seed.isMultiple(of: 2) ? try ModelDraft.club.compile() : try Self.looseModel(&self.random)
        let isSmall = !seed.isMultiple(of: 3)
        self.configuration = Store.Configuration(
            location: .file(self.directory.path + "/nest.sqlite"),
            model: self.model
        )
        if isSmall {
            self.configuration.streamedFrom = self.random.below(5)
            self.configuration.inlineBytesMax = self.random.below(400)
            self.configuration.orderStep = Int64(self.random.below(4) + 2)
        }
        self.differenceRowsMin = isSmall ? self.random.below(12) : Limits.differenceRowsMin
        self.store = try Store(self.configuration, newHistoryID: Identifier128.random(using: &self.random))
        self.followers = ChangeFollowers(seed: seed, isSmall: isSmall)
        self.engine = try Engine(
            store: self.store,
            differenceRowsMin: self.differenceRowsMin,
            changePageBytes: self.followers.pageBytes
        )
        self.naive = try NaiveResults(self.store)
        for type in AttributeType.allCases {
            self.pool[type] = (0..<4).map { _ in self.random.keptValue(of: type) }
        }
        self.pool[.string]! += ["", "a", "aa", "ab", "a long title", "a long titles"].map { .string($0) }
        self.pool[.decimal]! += ["-1", "-1.01", "1", "1.01", "0", "10"].map { .string($0) }
        for _ in 0..<3 {
            let client = SimulatedClient(
                session: Identifier128.random(using: &self.random),
                connection: ConnectionID(0)
            )
            self.clients.append(client)
            try self.perform([client.connect(as: self.newConnection())])
        }
    }

    private var what: String { "seed \(self.seed), step \(self.step)" }

    private func newConnection() -> ConnectionID {
        defer { self.nextConnection += 1 }
        return ConnectionID(self.nextConnection)
    }

    private func perform(_ inputs: [EngineInput]) throws {
        self.now += 1_000
        let effects = self.engine.perform(inputs, now: self.now)
        #expect(self.engine.failure == nil, "\(self.what)")
        for client in self.clients {
            for effect in effects { try client.take(effect, self.what) }
        }
        for effect in effects { try self.followers.take(effect, self.what) }
    }

    // MARK: Models

    /// A random model without most of what only refuses.
    private static func looseModel(_ random: inout SeededRandom) throws -> ManagedObjectModel {
        while true {
            var draft = random.modelDraft()
            for entity in draft.entities.indices {
                draft.entities[entity].root = nil
                draft.entities[entity].uniquenessConstraints = []
                for index in draft.entities[entity].attributes.indices {
                    draft.entities[entity].attributes[index].minimum = .null
                    draft.entities[entity].attributes[index].maximum = .null
                }
                for index in draft.entities[entity].relationships.indices {
                    draft.entities[entity].relationships[index].minimumCount = 0
                    draft.entities[entity].relationships[index].maximumCount = 0
                    draft.entities[entity].relationships[index].isOptional = true
                }
            }
            let hasToMany = draft.entities.contains { $0.relationships.contains { $0.isToMany } }
            let isUseful = draft.entities.contains { !$0.isAbstract && !$0.attributes.isEmpty }
            if hasToMany, isUseful, let model = try? draft.compile(), model.faults.isEmpty { return model }
        }
    }

    // MARK: A step

    func run(steps: Int) throws {
        for _ in 0..<steps {
            self.step += 1
            switch self.random.below(20) {
            case 0..<10: try self.writeBatch()
            case 10..<15: try self.subscribeSomewhere()
            case 15, 16: try self.blockOrDrain()
            case 17: try self.reconnect()
            case 18:
                // At times so late that what nobody subscribes to is given up.
                if self.random.oneIn(3) { self.now += 100_000_000 }
                try self.perform([.tick])
            default: if self.random.oneIn(6) { try self.restart() }
            }
            try self.perform(self.followers.step(self.model))
            try self.check()
        }
        for client in self.clients where client.isBlocked { try self.perform([client.drain()]) }
        while case let inputs = self.followers.drainAll(), !inputs.isEmpty { try self.perform(inputs) }
        try self.check()
        #expect(self.followers.areAllUpToDate, "\(self.what)")
        try self.engine.close()
    }

    private func anyClient() -> SimulatedClient { self.clients[self.random.below(self.clients.count)] }

    private func writeBatch(without absent: SimulatedClient? = nil) throws {
        var inputs: [EngineInput] = []
        var asked: [(client: SimulatedClient, id: UInt32)] = []
        for _ in 0...self.random.below(4) {
            let client = self.anyClient()
            guard client !== absent else { continue }
            var request = EngineRequest.undo(key: nil)
            if self.random.oneIn(6) {
                if self.random.oneIn(2) { request = .redo(key: nil) }
            } else {
                let count = self.random.oneIn(3) ? 1 + self.random.below(6) : 1
                let mutations =
                    self.random.oneIn(4) ? self.crowd() : (0..<count).compactMap { _ in self.randomMutation() }
                guard !mutations.isEmpty else { continue }
                request = .transaction(Transaction(mutations: mutations))
            }
            let (id, input) = client.request(request)
            inputs.append(input)
            asked.append((client, id))
        }
        try self.perform(inputs)
        self.naive = try NaiveResults(self.store)
        for (client, id) in asked {
            switch client.replies[id] {
            case .receipt: self.done += 1
            case .failure(let error):
                self.refused += 1
                #expect(error.code != .internalError, "\(self.what): \(error)")
            default: #expect(client.isBlocked, "\(self.what)")
            }
        }
    }

    // MARK: Random mutations

    private func anyEntity(where isWanted: (EntityDescription) -> Bool = { _ in true }) -> EntityDescription? {
        self.model.entities.filter(isWanted).randomElement(using: &self.random)
    }

    /// An object of an entity, mostly one of a few.
    private func anyObject(of entity: EntityNumber) -> ObjectID? {
        let ids = self.naive.objects(of: entity)
        return (self.random.oneIn(2) ? ids.prefix(3) : ids[...]).randomElement(using: &self.random)
    }

    private func randomValue(_ attribute: AttributeDescription) -> MutationValue {
        if attribute.isOptional, self.random.oneIn(6) { return .value(.null) }
        return .value(self.pool[attribute.type]!.randomElement(using: &self.random)!)
    }

    /// Some properties of an entity with values; required attributes without a default always.
    private func randomValues(_ entity: EntityDescription, oneIn: Int, isInsert: Bool) -> [PropertyAssignment] {
        var values: [PropertyAssignment] = []
        for attribute in entity.attributes {
            let isNeeded = isInsert && !attribute.isOptional && attribute.defaultValue.isNull
            guard isNeeded || self.random.oneIn(oneIn) else { continue }
            values.append(PropertyAssignment(attribute.number, self.randomValue(attribute)))
        }
        for relationship in entity.relationships where !relationship.isToMany && self.random.oneIn(oneIn + 1) {
            let target = self.random.oneIn(5) ? nil : self.anyObject(of: relationship.destination)
            values.append(
                PropertyAssignment(
                    relationship.number,
                    target.map { .reference(.object($0)) } ?? .value(.null)
                )
            )
        }
        return values
    }

    private func randomPlace(_ siblings: [ObjectID], isOrdered: Bool) -> Place {
        guard isOrdered else { return .last }
        switch self.random.below(5) {
        case 0: return .first
        case 1: return .at(self.random.below(siblings.count + 2))
        case 2: return .last
        default:
            guard let sibling = siblings.randomElement(using: &self.random) else { return .last }
            return self.random.oneIn(2) ? .before(.object(sibling)) : .after(.object(sibling))
        }
    }

    private func randomMutation() -> Mutation? {
        switch self.random.below(12) {
        case 0..<4:
            guard let entity = self.anyEntity(where: { !$0.isAbstract }) else { return nil }
            let values = self.randomValues(entity, oneIn: 2, isInsert: true)
            guard self.random.oneIn(6), let attribute = entity.attributes.randomElement(using: &self.random) else {
                return .insert(entity: entity.number, values: values, placements: [])
            }
            return .findOrCreate(
                entity: entity.number,
                match: [PropertyAssignment(attribute.number, self.randomValue(attribute))],
                values: values.filter { $0.property != attribute.number },
                placements: []
            )
        case 4..<7:
            guard let entity = self.anyEntity(), let id = self.anyObject(of: entity.number),
                let kind = self.naive.rows[id].flatMap({ self.model.entity($0.entity) })
            else { return nil }
            let values = self.randomValues(kind, oneIn: 3, isInsert: false)
            return values.isEmpty ? nil : .update(.object(id), values: values)
        case 7..<11:
            return self.randomRelation()
        default:
            guard self.naive.rows.count > 12 || self.random.oneIn(4), let entity = self.anyEntity() else { return nil }
            return self.anyObject(of: entity.number).map { .delete(.object($0)) }
        }
    }

    /// An object with a to-many relationship.
    private func anyOwner(
        where isWanted: (RelationshipDescription) -> Bool = { _ in true }
    ) -> (id: ObjectID, relationship: RelationshipDescription)? {
        let isOwner = { (entity: EntityDescription) in
            entity.relationships.contains { $0.isToMany && isWanted($0) }
        }
        guard let entity = self.anyEntity(where: isOwner), let owner = self.anyObject(of: entity.number),
            let kind = self.naive.rows[owner].flatMap({ self.model.entity($0.entity) }),
            let relationship = kind.relationships.filter({ $0.isToMany && isWanted($0) })
                .randomElement(using: &self.random)
        else { return nil }
        return (owner, relationship)
    }

    /// Objects that go between the same two of an order, until its gap runs out.
    private func crowd() -> [Mutation] {
        guard let (owner, relationship) = self.anyOwner(where: \.isOrdered) else { return [] }
        let related = self.naive.related(owner, relationship)
        guard let sibling = related.dropLast().randomElement(using: &self.random) else { return [] }
        let others = self.naive.objects(of: relationship.destination).filter { $0 != sibling }
        return others.shuffled(using: &self.random).prefix(3).map {
            .relate(.object(owner), relationship.number, .object($0), .after(.object(sibling)))
        }
    }

    private func randomRelation() -> Mutation? {
        guard let (owner, relationship) = self.anyOwner() else { return nil }
        let related = self.naive.related(owner, relationship)
        let others = self.naive.objects(of: relationship.destination)
        switch self.random.below(8) {
        case 0:
            return related.randomElement(using: &self.random).map {
                .unrelate(.object(owner), relationship.number, .object($0))
            }
        case 1:
            let some = others.shuffled(using: &self.random).prefix(self.random.below(6))
            return .setRelated(.object(owner), relationship.number, some.map { .object($0) })
        default:
            let target = (self.random.oneIn(3) ? related : others).randomElement(using: &self.random)
            let place = self.randomPlace(related, isOrdered: relationship.isOrdered)
            return target.map { .relate(.object(owner), relationship.number, .object($0), place) }
        }
    }

    // MARK: Clients

    private func subscribeSomewhere() throws {
        let client = self.anyClient()
        if client.subscriptions.count > 12, !client.isBlocked, let input = client.unsubscribe() {
            try self.perform([input])
        }
        guard let request = self.randomRequest(), client.subscriptions[request] == nil else { return }
        try self.perform([client.subscribe(request)])
        #expect(client.isBlocked || client.subscriptions[request]?.state != nil, "\(self.what): \(request) is refused")
    }

    private func randomRequest() -> FetchRequest? {
        guard var entity = self.anyEntity() else { return nil }
        var request = FetchRequest(entity: entity.number)
        var kind = "all"
        if self.random.below(3) > 0, let owner = self.anyObject(of: entity.number),
            let ownerKind = self.naive.rows[owner].flatMap({ self.model.entity($0.entity) }),
            let relationship = ownerKind.relationships.filter(\.isToMany).randomElement(using: &self.random),
            let destination = self.model.kinds(of: relationship.destination).randomElement(using: &self.random)
        {
            entity = destination
            request.entity = destination.number
            request.source = FetchSource(object: owner, relationship: relationship.number)
            kind = relationship.join == nil ? "owned" : "paired"
            if relationship.isOrdered { self.counts["\(kind) in order", default: 0] += 1 }
            if destination.number != relationship.destination { self.counts["\(kind) of a kind", default: 0] += 1 }
        }
        if self.random.oneIn(2), !entity.attributes.isEmpty {
            let attributes = entity.attributes.shuffled(using: &self.random).prefix(1 + self.random.below(3))
            request.sort = attributes.map { SortDescriptor($0.number, isAscending: self.random.oneIn(2)) }
            kind = "sorted \(kind)"
        }
        if self.random.oneIn(2) {
            let stored = [PropertyNumber.entity] + entity.storedProperties
            request.projection = Array(stored.shuffled(using: &self.random).prefix(1 + self.random.below(3)))
        }
        if self.random.oneIn(3), !kind.hasSuffix("paired") {
            let objects = Array(self.naive.rows.keys.sorted().shuffled(using: &self.random).prefix(8))
            let predicate = self.random.predicate(of: entity, values: self.pool, objects: objects)
            if predicate.faults(for: entity, in: self.model).isEmpty {
                request.predicate = predicate
                kind = "filtered \(kind)"
            }
        }
        self.counts[kind, default: 0] += 1
        return request.canonical(in: self.model)
    }

    private func blockOrDrain() throws {
        let client = self.anyClient()
        try self.perform([client.isBlocked ? client.drain() : client.block()])
    }

    private func reconnect() throws {
        let client = self.anyClient()
        try self.perform([.disconnected(client.connection)])
        if self.random.oneIn(2) { try self.writeBatch(without: client) }
        try self.perform([client.connect(as: self.newConnection())] + client.resumeAll())
    }

    private func restart() throws {
        try self.engine.close()
        self.store = try Store(self.configuration, newHistoryID: Identifier128(high: 0, low: 0))
        self.engine = try Engine(
            store: self.store,
            differenceRowsMin: self.differenceRowsMin,
            changePageBytes: self.followers.pageBytes
        )
        try self.perform(self.followers.reconnectAll())
        for client in self.clients {
            try self.perform([client.connect(as: self.newConnection())] + client.resumeAll())
        }
    }

    // MARK: The oracle

    private func fetch(_ request: FetchRequest) throws -> [Row] {
        let prober = ConnectionID(UInt64.max)
        let effects = self.engine.perform(
            [
                .connected(prober, session: Identifier128(high: 9, low: 9), scope: .everything),
                .request(prober, requestID: 1, .fetch(request, atLeast: Revision(0))), .disconnected(prober),
            ],
            now: self.now
        )
        for case .reply(_, _, let reply) in effects {
            if case .snapshot(_, let bodies) = reply {
                return try bodies.flatMap { body in
                    try ByteReader.read(body) { (reader) throws(DecodingFailure) in
                        try reader.rows(valueCount: request.projection.count)
                    }
                }
            }
            if case .failure(let error) = reply, error.code == .notFound { return [] }
        }
        Issue.record("\(self.what): no answer to a fetch")
        return []
    }

    private func check() throws {
        try self.followers.check(self.store, self.naive, self.what)
        for client in self.clients where !client.isBlocked {
            for (request, subscription) in client.subscriptions {
                let state = try #require(subscription.state, "\(self.what): no state")
                let expected = self.naive.rows(request)
                #expect(state.sections[0].rows == expected, "\(self.what): \(request)")
                var fresh = request
                fresh.projection = state.projection
                #expect(try self.fetch(fresh) == expected, "\(self.what): a fresh fetch of \(request)")
                #expect(state.revision >= client.acknowledged, "\(self.what): an answer overtook its diff")
            }
        }
    }
}
