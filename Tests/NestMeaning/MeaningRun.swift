import NIOCore
import NestProtocol
import NestEngine
import NestModel
import NestServer
import NestStore
import NestTestSupport
import NestFraming
import NestSchema

/// Runs random requests, most of them valid, from a seed or from a fuzzer's bytes. The model is random, the store and
/// the engine are real, and some of the clients are confined. It checks that nothing traps, that every request has
/// exactly one answer, that no answer is INTERNAL_ERROR, and that subscribers hold what a new engine finds in the
/// store.
package final class MeaningRun {
    var random: SeededRandom
    let store: Store
    var engine: Engine
    private var scene: MeaningScene
    var clients: [MeaningClient] = []
    private var lastConnection: UInt64 = 0
    var now: Int64 = 1_700_000_000_000_000
    let spool = SpoolBudget(bytesMax: 64 << 20)
    /// The number of large values that were sent.
    package internal(set) var putCount = 0
    private var isSceneOld = true
    /// The number of requests, of requests that the server could not read, and of states that were compared with those
    /// of another engine.
    package private(set) var requests = 0
    package private(set) var unreadable = 0
    package internal(set) var compared = 0
    package var diffs: Int { self.clients.reduce(0) { $0 + $1.diffs } }
    package var replies: Int { self.clients.reduce(0) { $0 + $1.replies } }
    package var refusals: [ErrorCode: Int] {
        self.clients.reduce(into: [:]) { $0.merge($1.refusals) { $0 + $1 } }
    }

    /// `model`: selects the model, so that the bytes of `random` are left for requests.
    package init(_ random: SeededRandom, model: UInt64) throws {
        self.random = random
        let model = Self.model(model)
        var configuration = Store.Configuration(location: .memory, model: model)
        if self.random.oneIn(2) {
            configuration.streamedFrom = self.random.below(6)
            configuration.bulkObjectsInMemoryMax = configuration.streamedFrom
            configuration.inlineBytesMax = self.random.below(400)
            configuration.orderStep = Int64(self.random.below(4) + 2)
            configuration.countedFrom = self.random.below(6)
        }
        self.store = try Store(configuration, newHistoryID: Identifier128(high: 7, low: 7))
        self.engine = try Self.engine(self.store, &self.random)
        self.scene = MeaningScene(model: model, &self.random)
        try self.refreshScene()
        for number in 0..<2 { try self.addClient(session: UInt64(number), .everything) }
        try self.addClient(session: 1, .everything)
        if let confinement = self.confinement() { try self.addClient(session: 9, .subtree(confinement)) }
    }

    private static func engine(_ store: Store, _ random: inout SeededRandom) throws -> Engine {
        try Engine(
            store: store,
            limits: EngineLimits(
                differenceRowsMin: random.oneIn(3) ? random.below(12) : Limits.differenceRowsMin,
                dependencyChangesMax: random.oneIn(3) ? random.below(20) : Limits.dependencyChangesMax,
                windowWorkMax: random.oneIn(3) ? 1 + random.below(9) : Limits.windowWorkMax,
                admissionWorkMax: random.oneIn(3) ? 1 + random.below(30) : Limits.admissionWorkMax,
                backgroundReadRowsMin: random.oneIn(3) ? 0 : Limits.backgroundReadRowsMin,
                changePageBytes: random.oneIn(3) ? 1 + random.below(600) : Limits.changePageBytes,
                preparedObjectsMin: store.streamedFrom
            )
        )
    }

    private static func model(_ seed: UInt64) -> ManagedObjectModel {
        if seed.isMultiple(of: 5) { return .nestedList }
        var random = SeededRandom(seed: seed)
        while true {
            var draft = seed.isMultiple(of: 2) ? random.smallModelDraft() : random.modelDraft()
            // No seed that has found a bug is one of these.
            if seed % 7 == 6 { draft.addLargeValues() }
            guard let model = try? draft.compile(), model.faults.isEmpty,
                model.entities.contains(where: { !$0.isAbstract })
            else { continue }
            return model
        }
    }

    /// Returns the confinement of a token, if the model has trees.
    private func confinement() -> AccessConfinement? {
        for entity in self.scene.model.entities {
            guard let tree = self.scene.trees(of: entity).first else { continue }
            let root = self.scene.objects(of: entity.number).first ?? ObjectID(3)
            return AccessConfinement(root: root, entity: entity.number, relationship: tree.number)
        }
        return nil
    }

    private func addClient(session: UInt64, _ scope: AuthorisationScope) throws {
        let client = MeaningClient(session: Identifier128(high: 1, low: session), scope: scope)
        self.clients.append(client)
        try self.perform([client.connect(as: self.newConnection())])
    }

    private func newConnection() -> ConnectionID {
        self.lastConnection += 1
        return ConnectionID(self.lastConnection)
    }

    // MARK: Steps

    /// Sends `count` requests, or as many as the bytes are enough for.
    package func run(requests count: Int) throws {
        var steps = 0
        while self.requests < count, !self.random.isSpent {
            steps += 1
            if self.isSceneOld, steps.isMultiple(of: 4) { try self.refreshScene() }
            var inputs: [EngineInput] = []
            for _ in 0..<(self.random.oneIn(3) ? 1 + self.random.below(6) : 1) { inputs += self.event() }
            try self.perform(inputs)
            if steps.isMultiple(of: 24) { try self.settleAndCompare() }
            if self.random.oneIn(150) { try self.restart() }
        }
        try self.settleAndCompare()
    }

    package func close() throws {
        let report = try self.store.reader.check(deadline: .none) { _ in }
        try MeaningFailure.unless(report.problems.isEmpty, "the store has problems: \(report.problems)")
        try self.engine.close()
    }

    private func client() -> MeaningClient { self.clients[self.random.below(self.clients.count)] }

    private func event() -> [EngineInput] {
        let client = self.client()
        if client.isEnded || self.random.oneIn(60) { return self.reconnect(client) }
        switch self.random.below(40) {
        case 0:
            self.now += self.random.pick([0, 1_000_000, 400_000_000, 100_000_000_000])
            return [.tick]
        case 1: return [.positionTimer]
        case 2, 3:
            client.isBlocked.toggle()
            if !client.isBlocked { client.awaitsDrain = false }
            return [client.isBlocked ? .blocked(client.connection) : .drained(client.connection)]
        case 4 where client.awaitsDrain && !client.isBlocked:
            client.awaitsDrain = false
            return [.drained(client.connection)]
        default: return self.ask(client)
        }
    }

    private func reconnect(_ client: MeaningClient) -> [EngineInput] {
        let held = client.held.sorted { $0.key < $1.key }.map(\.value)
        var inputs: [EngineInput] = [.disconnected(client.connection)]
        inputs.append(client.connect(as: self.newConnection()))
        for subscription in held where self.random.below(4) > 0 {
            guard let state = subscription.state, !subscription.isBlind else { continue }
            var request = subscription.request
            if case .around(_, let before, let after)? = request.window {
                guard let anchor = state.window?.anchor else { continue }
                request.window = .around(anchor, before: before, after: after)
            }
            let point = ResumePoint(historyID: self.store.historyID, revision: state.revision)
            inputs += self.send(client, Subscribe(request, resume: point)) { _ in
                .subscription(request, resumed: state, isBlind: false)
            }
        }
        return inputs
    }

    /// Replaces the engine by a new one, which knows only what the store contains, and reconnects all clients.
    private func restart() throws {
        self.engine = try Self.engine(self.store, &self.random)
        for client in self.clients { try self.perform(self.reconnect(client)) }
    }

    /// Sends the request that the server reads from a message. A message that the server cannot read does not reach the
    /// engine.
    private func send(
        _ client: MeaningClient,
        _ message: some Message,
        _ asked: (EngineRequest) -> MeaningClient.Asked = { _ in .other }
    ) -> [EngineInput] {
        self.requests += 1
        do throws(NestError) {
            let request = try MeaningWire.request(message)
            if case .transaction = request { self.isSceneOld = true }
            return [client.request(request, asked(request))]
        } catch {
            self.unreadable += 1
            return []
        }
    }

    private func ask(_ client: MeaningClient) -> [EngineInput] {
        switch self.random.below(100) {
        case 0..<38: return self.send(client, TransactionMessage(self.random.transaction(self.scene)))
        case 38..<52: return self.undo(client)
        case 52..<62: return self.subscribe(client)
        case 62..<70: return self.resubscribe(client)
        case 70..<73: return self.unsubscribe(client)
        case 73..<81:
            let atLeast = self.random.oneIn(8) ? self.random.wildRevision(self.scene) : Revision(0)
            return self.send(client, Fetch(self.random.fetch(self.scene), atLeast: atLeast))
        case 81..<83:
            let id = self.random.oneIn(6) ? self.random.wildID() : self.random.anyObject(self.scene)
            return self.send(client, GetObject(id: id))
        case 83..<85: return self.send(client, Explain(self.random.fetch(self.scene)))
        case 85:
            let before = self.random.wildRevision(self.scene)
            let limit = self.random.pick([0, 1, 10, 1_000, 1_001, 1 << 61])
            let object = self.random.oneIn(2) ? nil : self.random.wildID()
            let onlyMine = self.random.oneIn(2)
            return self.send(client, GetHistory(before: before, limit: limit, onlyMine: onlyMine, object: object))
        case 86: return self.presence(client)
        case 87: return self.send(client, GetStatistics())
        case 88..<91: return self.subscribeChanges(client)
        case 91: return self.send(client, GetUndoState(follows: self.random.oneIn(2)))
        case 92..<94: return self.tokens(client)
        case 94..<98: return self.importRows(client)
        case 98... where self.store.layout.hasLargeValues:
            self.requests += 1
            return self.putValue(client)
        default:
            // The model is mostly refused or faulty: an entity is gone.
            return self.store.head.rawValue.isMultiple(of: 4) ? self.applyModel(client) : self.export(client)
        }
    }

    /// A dry run with the model without one of its entities, or a refused attempt. It draws nothing at random, so that
    /// the runs of known seeds stay what they are.
    private func applyModel(_ client: MeaningClient) -> [EngineInput] {
        var entities = self.store.layout.model.entities
        entities.remove(at: Int(self.store.head.rawValue) % entities.count)
        let isDryRun = self.store.head.rawValue.isMultiple(of: 8)
        return self.send(client, ApplyModel(ManagedObjectModel(entities: entities), isDryRun: isDryRun))
    }

    private func presence(_ client: MeaningClient) -> [EngineInput] {
        let scope = self.random.oneIn(6) ? self.random.anyObject(self.scene) : ObjectID(1)
        if self.random.oneIn(3) {
            return self.send(client, FollowPresence(scope: scope, follows: self.random.below(4) > 0))
        }
        let bytes = [UInt8](repeating: 7, count: self.random.pick([0, 1, Limits.presenceBytesMax]))
        return self.send(client, SetPresence(scope: scope, bytes: self.random.oneIn(4) ? nil : bytes))
    }

    private func undo(_ client: MeaningClient) -> [EngineInput] {
        let options = self.random.undoOptions()
        let key = self.random.oneIn(8) ? self.random.key() : nil
        let revision = self.random.oneIn(3) ? self.random.wildRevision(self.scene) : self.recentRevision()
        let expected = self.random.oneIn(8) ? revision : nil
        self.isSceneOld = true
        switch self.random.below(14) {
        case 0..<4: return self.send(client, Undo(key: key, options: options, expected: expected))
        case 4..<7: return self.send(client, Redo(key: key, options: options, expected: expected))
        case 7..<10:
            let ofAnyone = self.random.below(3) > 0
            return self.send(client, Revert(key: key, options: options, revision: revision, ofAnyone: ofAnyone))
        case 10, 11:
            let targets: [UndoTarget] = [.undo, .redo, .revert(revision, ofAnyone: self.random.oneIn(2))]
            return self.send(client, PreviewUndo(self.random.pick(targets), options: options))
        case 12:
            let joined: UInt64? = self.random.oneIn(3) ? self.random.pick([1, 2, 3, 1 << 61]) : nil
            return self.send(client, BeginGroup(name: self.random.oneIn(2) ? nil : self.random.name(), joined: joined))
        default: return self.send(client, EndGroup())
        }
    }

    private func recentRevision() -> Revision {
        let head = self.scene.head.rawValue
        return Revision(head - min(head, UInt64(self.random.below(12))))
    }

    private func subscribe(_ client: MeaningClient) -> [EngineInput] {
        var request = self.random.fetch(self.scene)
        if self.random.oneIn(4), let other = self.client().held.min(by: { $0.key < $1.key })?.value.request {
            request = self.random.changed(other, self.scene)
        }
        var point: ResumePoint?
        if self.random.oneIn(10) {
            let historyID = self.random.oneIn(4) ? Identifier128(high: 0, low: 0) : self.store.historyID
            point = ResumePoint(historyID: historyID, revision: self.random.wildRevision(self.scene))
        }
        let atLeast = self.random.oneIn(20) ? self.random.wildRevision(self.scene) : Revision(0)
        return self.send(client, Subscribe(request, resume: point, atLeast: atLeast)) { _ in
            .subscription(request, resumed: nil, isBlind: point != nil)
        }
    }

    private func view(_ client: MeaningClient) -> UInt32 {
        let views = (Array(client.held.keys) + Array(client.changeViews)).sorted()
        let isWrong = self.random.oneIn(12)
        return isWrong ? self.random.pick([0, 1, 1 << 31, .max]) : views.randomElement(using: &self.random) ?? 1 << 31
    }

    private func resubscribe(_ client: MeaningClient) -> [EngineInput] {
        let view = self.view(client)
        // A client waits for the answer before it names the view again.
        let isBusy = client.asked.values.contains { asked in
            switch asked {
            case .change(let other, _), .end(let other): other == view
            default: false
            }
        }
        guard !isBusy else { return [] }
        let old = client.held[view]?.request ?? self.random.fetch(self.scene)
        let request = self.random.changed(old, self.scene)
        return self.send(client, Resubscribe(view: view, request: request)) { _ in .change(view: view, request) }
    }

    private func unsubscribe(_ client: MeaningClient) -> [EngineInput] {
        let view = self.view(client)
        return self.send(client, Unsubscribe(view: view)) { _ in .end(view: view) }
    }

    private func subscribeChanges(_ client: MeaningClient) -> [EngineInput] {
        var since: ResumePoint?
        if self.random.below(3) > 0 {
            let revision = self.random.oneIn(3) ? self.random.wildRevision(self.scene) : self.recentRevision()
            since = ResumePoint(historyID: self.store.historyID, revision: revision)
        }
        let place = self.random.oneIn(3) ? self.random.wildCount() : self.random.below(3)
        let entities = (0..<self.random.below(3)).map { _ in
            self.random.isWrong()
                ? EntityNumber(self.random.wildNumber()) : self.random.entity(self.scene)?.number ?? EntityNumber(1)
        }
        return self.send(client, SubscribeChanges(since: since, place: place, entities: entities)) { _ in .changes }
    }

    private func tokens(_ client: MeaningClient) -> [EngineInput] {
        switch self.random.below(3) {
        case 0:
            var grant = TokenGrant(name: self.random.name(), role: self.random.pick(AccessRole.allCases))
            if self.random.oneIn(2) {
                grant.confinement = AccessConfinement(
                    root: self.random.anyObject(self.scene),
                    entity: self.random.entity(self.scene)?.number ?? EntityNumber(1),
                    relationship: PropertyNumber(self.random.wildNumber())
                )
                if self.random.oneIn(2) { grant.confinement = self.confinement() }
            }
            grant.limits.subscriptions = self.random.oneIn(3) ? self.random.wildCount() : 0
            let secret = TokenSecret(high: self.random.identifier(), low: self.random.identifier())
            return self.send(client, CreateToken(grant, secretHash: secret))
        case 1: return self.send(client, ListTokens())
        default: return self.send(client, RevokeToken(number: self.random.pick([0, 1, 2, 3, 1 << 53, 1 << 61])))
        }
    }

    // MARK: Sub-trees

    private func importRows(_ client: MeaningClient) -> [EngineInput] {
        guard let entity = self.random.entity(self.scene), self.scene.count < 200 || self.random.oneIn(8) else {
            return []
        }
        let ways = entity.relationships.filter { !$0.isToMany || self.random.isWrong() }
        guard let way = ways.randomElement(using: &self.random) else { return [] }
        let attributes = entity.attributes.filter { _ in self.random.below(3) > 0 }
        var properties = attributes.map(\.number)
        if self.random.isWrong() { properties.append(PropertyNumber(self.random.wildNumber())) }
        let place: Place =
            switch self.random.below(4) {
            case 0: .first
            case 1: .at(self.random.oneIn(4) ? self.random.wildCount() : self.random.below(4))
            case 2: .after(.object(self.random.anyObject(self.scene)))
            default: .last
            }
        let owner = self.random.object(self.scene, of: way.destination) ?? self.random.anyObject(self.scene)
        let request = SubtreeImport(
            key: self.random.oneIn(8) ? self.random.key() : nil,
            name: self.random.oneIn(4) ? self.random.name() : nil,
            entity: entity.number,
            placement: Placement(relationship: way.number, owner: .object(owner), place: place),
            properties: properties
        )
        self.requests += 1
        self.isSceneOld = true
        do {
            let message = try ImportSubtree(body: .init(bytes: ImportSubtree(request).body))
            let staged = try self.stage(message.request, attributes)
            return [client.request(.importSubtree(staged), .other)]
        } catch {
            self.unreadable += 1
            return []
        }
    }

    /// Stages chunks as a client sends them, with the checks of the server.
    private func stage(_ request: SubtreeImport, _ attributes: [AttributeDescription]) throws -> StagedSubtree {
        var stage = UploadStage(
            request,
            directory: self.store.reader.spoolDirectory,
            reservation: SpoolReservation(self.spool)
        )
        var writer = SubtreeChunkWriter(valueCount: request.properties.count, hasIDs: self.random.oneIn(30))
        let hasIDs = self.random.oneIn(30)
        var checksum = SubtreeChecksum()
        var depth = 0
        let count = self.random.oneIn(20) ? 150 : 1 + self.random.below(8)
        writer = SubtreeChunkWriter(valueCount: request.properties.count, hasIDs: hasIDs)
        for index in 0..<count {
            depth = index == 0 ? 0 : max(0, depth + 1 - self.random.below(3))
            if self.random.isWrong() { depth += 2 }
            let values = request.properties.indices.map { column in
                attributes.indices.contains(column) ? self.random.value(self.scene, attributes[column]) : .null
            }
            writer.append(SubtreeRow(depth: depth, id: hasIDs ? ObjectID(1) : nil, values: values))
        }
        let body = SubtreeChunk(packing: writer.take(), nil).bytes
        checksum.add(body)
        try stage.append([body])
        return try stage.finish(request, rowCount: count, checksum: checksum.value)
    }

    private func export(_ client: MeaningClient) -> [EngineInput] {
        let isAny = self.random.isWrong()
        guard let (id, way) = self.random.owner(self.scene, where: { $0.isToMany || isAny }) else { return [] }
        let depth = self.random.oneIn(3) ? min(self.random.wildCount(), 1 << 61) : nil
        let properties = self.random.oneIn(4) ? [PropertyNumber(self.random.wildNumber())] : []
        let asked = SubtreeRequest(
            root: self.random.isWrong() ? self.random.wildID() : id,
            relationship: way.number,
            depthLimit: depth,
            properties: properties
        )
        self.requests += 1
        var confinement: AccessConfinement?
        if case .subtree(let grant) = client.scope { confinement = grant }
        do {
            let message = try FetchSubtree(body: .init(bytes: FetchSubtree(asked).body))
            _ = try self.store.reader.exportSubtree(
                message.request,
                atLeast: message.atLeast,
                isCompressed: self.random.oneIn(2),
                confinement: confinement,
                deadline: .none
            )
        } catch {
            self.unreadable += 1
        }
        return []
    }

    // MARK: The engine

    func perform(_ inputs: [EngineInput]) throws {
        self.now += 1_000
        let effects = self.engine.perform(inputs, now: self.now)
        if let failure = self.engine.failure { throw MeaningFailure("the engine has failed: \(failure)") }
        var arrived: [EngineInput] = []
        for effect in effects {
            switch effect {
            case .reply(let id, let requestID, let reply):
                try MeaningWire.check(reply)
                if case .value(let value, let type) = reply { self.scene.add(value, type) }
                try self.clients.first { $0.connection == id }?.take(reply, requestID)
            case .push(let push, let to):
                try MeaningWire.check(push)
                for client in self.clients where to.contains(client.connection) { try client.take(push) }
            case .progress(let revision, let to):
                for client in self.clients where to.contains(client.connection) { client.takeProgress(revision) }
            case .end(let id, _): self.clients.first { $0.connection == id }?.end()
            case .whenDrained(let id): self.clients.first { $0.connection == id }?.awaitsDrain = true
            case .read(let read): arrived.append(.read(read.id, read.run(self.store.reader)))
            case .presence(let body, let to):
                let message = try MeaningWire.presence(body)
                for client in self.clients where to.contains(client.connection) { try client.take(message) }
            case .welcome, .own, .authors, .undoState, .tokensChanged, .peerPresence, .replica, .forward, .model: break
            }
        }
        self.scene.head = self.store.head
        if !arrived.isEmpty { try self.perform(arrived) }
    }

    private func refreshScene() throws {
        self.isSceneOld = false
        var found: [ObjectID: EntityNumber] = [:]
        // Reads only the ids that were known and those assigned since, because there are many ids after a while.
        try self.store.access {
            for id in Set(self.scene.all + self.scene.gone).union(self.newIDs()) {
                if let object = try self.store.object(id) { found[id] = object.row.entity }
            }
        }
        self.lastID = self.store.nextObjectID
        self.scene.take(found)
        self.scene.head = self.store.head
        self.scene.historyID = self.store.historyID
    }

    private var lastID: Int64 = 1
    private func newIDs() -> [ObjectID] {
        (self.lastID..<max(self.lastID, self.store.nextObjectID)).map { ObjectID($0) }
    }
}
