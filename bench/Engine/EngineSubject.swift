import NestEngine
import NestModel
import NestStore
import NestProtocol

/// An engine with its own store, driven without sockets, and the connections that write to it and subscribe.
///
/// This is `nestbench`'s only access to the engine. Not Sendable: create and use it on one thread.
package final class EngineSubject {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The result of a run of commits.
    package struct Run {
        /// The total time in seconds.
        package var time: Double = 0
        package var inserted: [ObjectID] = []
        /// The number of diffs and snapshots sent to subscribers.
        package var pushCount = 0
        /// The number of extra turns in which the engine updated windows after a commit.
        package var turnCount = 0
    }

    private let store: Store
    private let engine: Engine
    private let reader: StoreReader
    private var now: Int64 = 1_700_000_000_000_000
    private var nextRequestID: UInt32 = 1
    private var lastConnection: UInt64 = 1
    package static let writer = ConnectionID(1)

    /// `path`: the file of the store. If it is `nil`, the store is in memory and commits do not wait for a disk.
    /// `preparedObjectsMin`: writes of more objects are prepared in parts. `rowLogBytesMax`: what results may keep of
    /// their changes. `namesOwnRequests`: the writer is a client that shows its writes before they are confirmed.
    package convenience init(
        _ model: ManagedObjectModel,
        path: String? = nil,
        preparedObjectsMin: Int = Limits.preparedObjectsMin,
        rowLogBytesMax: Int = Limits.rowLogBytesMax,
        namesOwnRequests: Bool = false
    ) throws {
        let store = try Store(
            .init(location: path.map { .file($0) } ?? .memory, model: model),
            newHistoryID: Identifier128(high: 1, low: 1)
        )
        let limits = EngineLimits(preparedObjectsMin: preparedObjectsMin, rowLogBytesMax: rowLogBytesMax)
        try self.init(store: store, limits, namesOwnRequests: namesOwnRequests)
    }

    init(store: Store, _ limits: EngineLimits = EngineLimits(), namesOwnRequests: Bool = false) throws {
        self.store = store
        self.engine = try Engine(store: store, limits: limits)
        self.reader = store.reader
        let session = Identifier128(high: 1, low: 1)
        _ = self.perform([
            .connected(Self.writer, session: session, scope: .everything, namesOwnRequests: namesOwnRequests)
        ])
    }

    package func close() throws {
        try self.engine.close()
    }

    private func perform(_ inputs: [EngineInput]) -> [EngineEffect] {
        self.now += 1_000
        var effects = self.engine.perform(inputs, now: self.now)
        // An answer may have reads of its own: a large result is read in parts.
        var index = 0
        while index < effects.count {
            defer { index += 1 }
            switch effects[index] {
            // Does the work of the server's reader threads.
            case .read(let read):
                effects += self.engine.perform([.read(read.id, read.run(self.reader))], now: self.now)
            // The connection has read everything at once.
            case .whenDrained(let id): effects += self.engine.perform([.drained(id)], now: self.now)
            default: break
            }
        }
        self.engine.checkpointIfDue()
        return effects
    }

    private func request(_ request: EngineRequest, from connection: ConnectionID = EngineSubject.writer) -> EngineInput
    {
        defer { self.nextRequestID = self.nextRequestID % Limits.requestIDMax + 1 }
        return .request(connection, requestID: self.nextRequestID, request)
    }

    // MARK: Writing

    /// Commits each group of one-mutation requests in one SQLite transaction. `clock` returns seconds.
    ///
    /// The time includes the turns in which windows are updated after a commit. It excludes creating the requests and
    /// checking the replies.
    package func time(_ groups: [[Mutation]], _ clock: () -> Double) throws -> Run {
        let inputs = groups.map { group in group.map { self.request(.transaction(WriteTransaction(mutations: [$0]))) } }
        var effects: [[EngineEffect]] = []
        effects.reserveCapacity(inputs.count)
        let start = clock()
        var run = Run()
        // As the server's thread, which keeps the connection.
        self.store.access {
            for input in inputs {
                effects.append(self.perform(input))
                while self.engine.hasBacklog {
                    effects.append(self.perform([]))
                    run.turnCount += 1
                }
            }
        }
        run.time = clock() - start
        for effects in effects { try self.take(effects, &run) }
        return run
    }

    /// Commits a group of one-mutation requests in one SQLite transaction, `times` times. As in a server, the requests
    /// of a group arrive when the group before is done, and what was sent is not kept.
    package func commit(_ group: [Mutation], times: Int) throws {
        let end = self.store.head.rawValue + UInt64(group.count * times)
        self.store.access {
            for _ in 0..<times {
                let inputs = group.map {
                    self.request(.transaction(WriteTransaction(mutations: [$0]), requestHash: 0))
                }
                _ = self.perform(inputs)
                while self.engine.hasBacklog { _ = self.perform([]) }
            }
        }
        // Looking at each reply would be counted too.
        guard self.store.head.rawValue == end else { throw Failure(description: "a write was refused") }
    }

    /// Commits transactions of many mutations as one batch. Subscribers see one change.
    @discardableResult
    package func write(_ transactions: [[Mutation]]) throws -> Run {
        var run = Run()
        try self.take(
            self.perform(transactions.map { self.request(.transaction(WriteTransaction(mutations: $0))) }),
            &run
        )
        return run
    }

    private func take(_ effects: [EngineEffect], _ run: inout Run) throws {
        for effect in effects {
            switch effect {
            case .reply(_, _, .receipt(let receipt)): run.inserted += receipt.insertedIDs
            case .reply(_, _, .failure(let error)): throw Failure(description: "\(error)")
            case .push: run.pushCount += 1
            case .reply, .welcome, .progress, .own, .authors, .undoState, .presence, .peerPresence, .whenDrained, .read,
                .end, .tokensChanged, .replica, .forward, .model:
                break
            }
        }
    }

    // MARK: A node of a cluster

    /// The store's position in the log of its cluster.
    var position: Int64? { self.store.logState?.position.position }

    /// Performs an input from the log, and the turns that it takes.
    func perform(_ input: LogInput) {
        _ = self.perform([.log(input)])
        while self.engine.hasBacklog { _ = self.perform([]) }
    }

    // MARK: Reading

    /// Requests all objects in one batch, `times` times.
    package func get(_ objects: [ObjectID], times: Int) throws {
        try self.store.access {
            for _ in 0..<times {
                for case .reply(_, _, .failure(let error)) in self.perform(objects.map { self.request(.object($0)) }) {
                    throw Failure(description: "\(error)")
                }
            }
        }
    }

    // MARK: Subscribing

    /// Adds connections without subscriptions and returns the number of the first.
    @discardableResult
    package func connect(_ count: Int) -> UInt64 {
        let first = self.lastConnection + 1
        self.lastConnection += UInt64(count)
        for number in first...self.lastConnection {
            let session = Identifier128(high: 2, low: number)
            _ = self.perform([.connected(ConnectionID(number), session: session, scope: .everything)])
        }
        return first
    }

    /// Subscribes on a connection, by default the writer's, and returns the number of the view.
    @discardableResult
    package func subscribe(
        _ request: ObjectFetchRequest,
        on connection: UInt64 = EngineSubject.writer.rawValue
    ) throws -> UInt32 {
        let input = self.request(
            .subscribe(request, resume: nil, atLeast: Revision(0)),
            from: ConnectionID(connection)
        )
        for effect in self.perform([input]) {
            switch effect {
            case .reply(_, _, .subscribed(let view, _, _, _)): return view
            case .reply(_, _, .failure(let error)): throw Failure(description: "\(error)")
            default: break
            }
        }
        throw Failure(description: "the engine did not answer a subscription")
    }

    /// Runs the position timer, which sends the new positions of windows whose rows stay the same. Returns the seconds.
    package func timePositionTimer(_ clock: () -> Double) -> Double {
        let start = clock()
        _ = self.perform([.positionTimer])
        return clock() - start
    }

    /// Disconnects `count` connections, which ends their subscriptions.
    package func disconnect(_ first: UInt64, _ count: Int) {
        for number in first..<(first + UInt64(count)) { _ = self.perform([.disconnected(ConnectionID(number))]) }
    }

    /// Ends a subscription and advances the time until the engine drops results without subscribers.
    package func drop(view: UInt32, on connection: UInt64) {
        _ = self.perform([self.request(.unsubscribe(view: view), from: ConnectionID(connection))])
        self.now += Int64(Limits.unusedResultSeconds + 1) * 1_000_000
        self.tick()
    }

    /// Does what the server does once a second: the limits of memory are enforced.
    package func tick() { _ = self.perform([.tick]) }
}
