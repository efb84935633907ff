import NIOCore
import NestModel
import NestProtocol

/// Requests with one answer.
extension NestClient {
    /// Carries out mutations together or not at all. Returns when they are durable.
    public func transaction(_ transaction: WriteTransaction) async throws(NestError) -> Receipt {
        var transaction = transaction
        transaction.key = transaction.key ?? Self.newKey()
        return try await self.write(TransactionMessage(transaction))
    }

    /// The result of a fetch request, at `atLeast` or later: with a receipt's revision a client reads its own write.
    public func fetch(
        _ request: ObjectFetchRequest,
        atLeast: Revision = Revision(0)
    ) async throws(NestError) -> SectionedSnapshot {
        try await self.fetchWindow(request, atLeast: atLeast).snapshot
    }

    /// How many rows the result of a fetch request has; its window does not matter.
    public func count(_ request: ObjectFetchRequest, atLeast: Revision = Revision(0)) async throws(NestError) -> Int {
        var request = request
        request.window = FetchWindow(limit: 0)
        return try await self.fetchWindow(request, atLeast: atLeast).total
    }

    /// The rows of a request's window, and how many there are in all.
    public func fetchWindow(
        _ request: ObjectFetchRequest,
        atLeast: Revision = Revision(0)
    ) async throws(NestError) -> (snapshot: SectionedSnapshot, total: Int) {
        // The answer does not say what its rows hold.
        let model = try await self.readModel().model
        guard model.entity(request.entity) != nil else {
            throw NestError(.unknownEntity, "the model has no entity \(request.entity.rawValue)")
        }
        let projection = request.canonical(in: model).projection
        let reply = try await self.read(Fetch(request, atLeast: atLeast), projection: projection)
        guard case .snapshot(var snapshot, let total) = reply else { throw Self.unexpected(reply) }
        if request.window == nil { snapshot.window = nil }
        return (snapshot, total)
    }

    /// One object with everything it holds.
    public func object(_ id: ObjectID) async throws(NestError) -> ObjectDetail {
        try await self.ask(GetObject(id: id)).object
    }

    /// Committed transactions, newest first: at most `limit` (at most `Limits.historyPageMax`) before `before`, or the
    /// newest. There may be fewer: the history ends where there are none.
    public func history(
        before: Revision? = nil,
        limit: Int = 100,
        onlyMine: Bool = true
    ) async throws(NestError) -> [HistoryEntry] {
        try await self.ask(GetHistory(before: before ?? Revision(0), limit: limit, onlyMine: onlyMine)).entries
    }

    /// The server's model; asked for once, and again when the server comes back with another.
    ///
    /// When that happens subscriptions end with `schemaChanged`, and requests made for the old model fail with it, until
    /// the new one has been read by calling this.
    public func model() async throws(NestError) -> ManagedObjectModel {
        let read = try await self.readModel()
        await self.core.modelIsKnown(hash: read.hash)
        return read.model
    }

    private func readModel() async throws(NestError) -> KnownModel {
        if let read = await self.core.currentModel { return read }
        let reply = try await self.read(GetModel())
        guard case .model(let read) = reply else { throw Self.unexpected(reply) }
        return read
    }

    /// Counters and gauges of the server.
    public func statistics() async throws(NestError) -> [Statistic] {
        try await self.ask(GetStatistics()).values
    }

    /// Everyone who is connected, in the order of their numbers; this client too. Asks for pages until all are there.
    public func clients() async throws(NestError) -> [ConnectedClient] {
        var clients: [ConnectedClient] = []
        while true {
            let page = GetClients(after: clients.last?.number ?? 0, limit: Limits.clientsPageMax)
            let found = try await self.ask(page).clients
            clients += found
            guard found.count == Limits.clientsPageMax else { return clients }
        }
    }

    /// Ends another client's connection; `number` is that of `clients`. A nest client connects again after a second.
    public func kick(_ number: UInt64) async throws(NestError) {
        _ = try await self.ask(Kick(number: number))
    }

    /// How the server finds the rows of a fetch request, and what it costs to follow them.
    public func explain(_ request: ObjectFetchRequest) async throws(NestError) -> Explanation {
        try await self.ask(Explain(request)).explanation
    }

    /// The time that a message takes to the server and back.
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
    /// - Parameter kind: what happens to it when the connection is lost.
    func ask<Asked: Query>(
        _ query: Asked,
        kind: OutgoingRequest.Kind = .read
    ) async throws(NestError) -> Asked.Answer {
        let reply = try await self.core.request(timeout: self.configuration.requestTimeout) { machine, token in
            machine.submit(OutgoingRequest(owner: .caller(token), kind: kind, query: query))
        }
        guard case .answer(let answer) = reply, let message = answer.message as? Asked.Answer else {
            throw Self.unexpected(reply)
        }
        return message
    }

    static func unexpected(_ reply: Reply) -> NestError {
        NestError(.protocolViolation, "the server gave another kind of answer than was asked for")
    }

    static func unexpected(_ type: MessageType) -> NestError {
        NestError(.protocolViolation, "the server answered with \(type), which was not asked for")
    }
}
