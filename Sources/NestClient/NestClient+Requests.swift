import NIOCore
import NestModel
import NestProtocol

/// Requests with one answer.
extension NestClient {
    /// Executes mutations together or not at all. Returns when they are durable.
    public func transaction(_ transaction: WriteTransaction) async throws(NestError) -> Receipt {
        var transaction = transaction
        transaction.key = transaction.key ?? Self.newKey()
        return try await self.write(TransactionMessage(transaction))
    }

    /// Reserves object ids for the session of this client: `context.insert(…, as: id)` inserts an object whose id the
    /// program knows before the server has seen it. Durable when it returns; an id that is not used is never given to
    /// another object of the store's history. A session keeps its newest `Limits.reservedIDsPerSessionMax`.
    ///
    /// `count`: 1 to `Limits.reservedIDsPerRequestMax`. One round trip, and one `fsync`. If the connection is lost
    /// before the answer, it throws, and the ids are lost: ask again.
    public func reserveIDs(_ count: Int) async throws(NestError) -> [ObjectID] {
        guard (1...Limits.reservedIDsPerRequestMax).contains(count) else {
            throw NestError(.limitExceeded, "one request reserves 1 to \(Limits.reservedIDsPerRequestMax) ids")
        }
        let reply = try await self.ask(ReserveIDs(count: count), kind: .connection)
        guard reply.count == count else {
            throw NestError(.protocolViolation, "the server reserved \(reply.count) ids instead of \(count)")
        }
        return (0..<Int64(count)).map { ObjectID(reply.first.rawValue + $0) }
    }

    /// Returns the result of a fetch request, at revision `atLeast` or later. With the revision of a receipt, a client
    /// reads its own write. With `.newest` it reads every write that was acknowledged before, by whichever client, at
    /// any node of a cluster; that takes a question to the log. In any case the result is not older than what this
    /// client has seen.
    public func fetch(
        _ request: ObjectFetchRequest,
        atLeast: Revision = Revision(0)
    ) async throws(NestError) -> SectionedSnapshot {
        try await self.fetchWindow(request, atLeast: atLeast).snapshot
    }

    /// Returns the number of rows in the result of a fetch request. Ignores its window.
    public func count(_ request: ObjectFetchRequest, atLeast: Revision = Revision(0)) async throws(NestError) -> Int {
        var request = request
        request.window = FetchWindow(limit: 0)
        return try await self.fetchWindow(request, atLeast: atLeast).total
    }

    /// Returns the rows of a request's window, and the number of rows in the whole result.
    public func fetchWindow(
        _ request: ObjectFetchRequest,
        atLeast: Revision = Revision(0)
    ) async throws(NestError) -> (snapshot: SectionedSnapshot, total: Int) {
        // The answer does not contain the properties of its rows.
        let model = try await self.readModel().model
        guard model.entity(request.entity) != nil else {
            throw NestError(.unknownEntity, "the model has no entity \(request.entity.rawValue)")
        }
        // Spelled out, so that a later model with more properties gives the same.
        let request = request.spelledOut(in: model)
        let projection = request.canonical(in: model).projection
        let reply = try await self.read(Fetch(request, atLeast: atLeast), projection: projection)
        guard case .snapshot(var snapshot, let total) = reply else { throw Self.unexpected(reply) }
        if request.window == nil { snapshot.window = nil }
        return (snapshot, total)
    }

    /// Returns one object with all its values.
    public func object(_ id: ObjectID) async throws(NestError) -> ObjectDetail {
        try await self.ask(GetObject(id: id)).object
    }

    /// Returns committed transactions, newest first: those before `before`, or the newest. Returns at most `limit`,
    /// which is at most `Limits.historyPageMax`, and possibly fewer. The history has ended when a page is empty.
    ///
    /// `object`: only those that changed the values, the to-one relationships or the position of this object. Then the
    /// history of this session alone may have an empty page before its end.
    public func history(
        before: Revision? = nil,
        limit: Int = 100,
        onlyMine: Bool = true,
        object: ObjectID? = nil
    ) async throws(NestError) -> [HistoryEntry] {
        let request = GetHistory(before: before ?? Revision(0), limit: limit, onlyMine: onlyMine, object: object)
        return try await self.ask(request).entries
    }

    /// Returns the server's model. Reads it once, and again when the server has another model after a reconnect.
    ///
    /// When the server has another model that extends this one, with more entities or properties, everything goes on.
    /// When it does not, subscriptions end with `schemaChanged`, and requests for the old model fail with it until this
    /// has been called.
    public func model() async throws(NestError) -> ManagedObjectModel {
        let read = try await self.readModel()
        await self.core.modelIsKnown(hash: read.hash)
        return read.model
    }

    /// The model, for a request that depends on nothing that the caller knows of it.
    func currentModel() async throws(NestError) -> ManagedObjectModel { try await self.readModel().model }

    private func readModel() async throws(NestError) -> KnownModel {
        if let read = await self.core.currentModel { return read }
        if let cached = await self.core.cachedModel() { return cached }
        let reply = try await self.read(GetModel())
        guard case .model(let read) = reply else { throw Self.unexpected(reply) }
        return read
    }

    /// Returns the counters and gauges of the server.
    public func statistics() async throws(NestError) -> [Statistic] {
        try await self.ask(GetStatistics()).values
    }

    /// Returns all connected clients, including this one, in the order of their numbers. Reads pages until the list is
    /// complete.
    public func clients() async throws(NestError) -> [ConnectedClient] {
        var clients: [ConnectedClient] = []
        while true {
            let page = GetClients(after: clients.last?.number ?? 0, limit: Limits.clientsPageMax)
            let found = try await self.ask(page).clients
            clients += found
            guard found.count == Limits.clientsPageMax else { return clients }
        }
    }

    /// Closes the connection of another client. `number` is from `clients()`. A nest client reconnects after a second.
    public func kick(_ number: UInt64) async throws(NestError) {
        _ = try await self.ask(Kick(number: number))
    }

    /// Returns the predicate of a text, read by the server as `nestc --where` reads it. A mistake is the error
    /// `invalidPredicate`, whose `column` says where. The server needs nothing but its model for it.
    ///
    /// A program with the model need not ask: `FetchPredicate(_:of:in:dates:)` reads the same language. `zone`: the
    /// zone of times that have none, by its IANA name, such as `Europe/Berlin`; empty: UTC. `now`: the time that `now`
    /// and `today` mean, in microseconds since 1970-01-01 UTC; `nil`: the server's time.
    public func predicate(
        _ text: String,
        of entity: EntityNumber,
        zone: String = "",
        now: Int64? = nil
    ) async throws(NestError) -> FetchPredicate {
        try await self.ask(ParsePredicate(text, of: entity, now: now ?? 0, zone: zone)).predicate
    }

    /// Returns how the server evaluates a fetch request, and what it costs to follow it.
    public func explain(_ request: ObjectFetchRequest) async throws(NestError) -> Explanation {
        try await self.ask(Explain(request)).explanation
    }

    /// Returns the time that a message takes to the server and back.
    public func ping() async throws(NestError) -> Duration {
        try await self.connect()
        let clock = ContinuousClock()
        let start = clock.now
        let timeout = self.configuration.requestTimeout
        _ = try await self.core.request(timeout: timeout) { machine, token in machine.ping(token) }
        return clock.now - start
    }

    static func newKey() -> Identifier128 {
        var random = SystemRandomNumberGenerator()
        return Identifier128.random(using: &random)
    }

    func write(_ message: some Message) async throws(NestError) -> Receipt {
        let timeout = self.configuration.requestTimeout
        let reply = try await self.core.request(timeout: timeout) { machine, token in
            machine.submit(OutgoingRequest(owner: .caller(token), kind: .write, message))
        }
        guard case .receipt(let receipt) = reply else { throw Self.unexpected(reply) }
        return receipt
    }

    func read(_ message: some Message, projection: [PropertyNumber] = []) async throws(NestError) -> Reply {
        try await self.core.request(timeout: self.configuration.requestTimeout) { machine, token in
            machine.submit(OutgoingRequest(owner: .caller(token), kind: .read, message, projection: projection))
        }
    }

    /// Sends a query and returns its answer.
    ///
    /// - Parameter kind: How the request is handled when the connection is lost.
    func ask<Asked: Query>(
        _ query: Asked,
        kind: OutgoingRequest.Kind = .read,
        needsUsers: Bool = false
    ) async throws(NestError) -> Asked.Answer {
        let reply = try await self.core.request(timeout: self.configuration.requestTimeout) { machine, token in
            var request = OutgoingRequest(owner: .caller(token), kind: kind, query: query)
            request.needsUsers = needsUsers
            return machine.submit(request)
        }
        guard case .answer(let answer) = reply, let message = answer.message as? Asked.Answer else {
            throw Self.unexpected(reply)
        }
        return message
    }

    static func unexpected(_ reply: Reply) -> NestError {
        NestError(.protocolViolation, "the server answered with another kind of message than expected")
    }

    static func unexpected(_ type: MessageType) -> NestError {
        NestError(.protocolViolation, "the server answered with \(type), which is not an answer to the request")
    }
}
