import NestEngine
import NestModel
import NestStore
import NestProtocol

/// An engine on a store of its own, driven without sockets, and the connections that write to it and subscribe.
///
/// What `nestbench` sees of the engine: it measures, nothing else. Not Sendable: created and used on one thread.
package final class EngineSubject {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// What came of a run of commits.
    package struct Run {
        /// In all, seconds.
        package var time: Double = 0
        package var inserted: [ObjectID] = []
        /// Diffs and snapshots for subscribers.
        package var pushCount = 0
        /// Turns for windows that the work of a commit's own did not reach.
        package var turnCount = 0
    }

    private let engine: Engine
    private let reader: StoreReader
    private var now: Int64 = 1_700_000_000_000_000
    private var nextRequestID: UInt32 = 1
    private var lastConnection: UInt64 = 1
    private static let writer = ConnectionID(1)

    /// `path`: of the store; in the machine's memory, where a commit waits for no disk, when `nil`.
    package init(_ model: ManagedObjectModel, path: String? = nil) throws {
        let store = try Store(
            .init(location: path.map { .file($0) } ?? .memory, model: model),
            newHistoryID: Identifier128(high: 1, low: 1)
        )
        self.engine = try Engine(store: store)
        self.reader = store.reader
        _ = self.perform([.connected(Self.writer, session: Identifier128(high: 1, low: 1), scope: .everything)])
    }

    package func close() throws {
        try self.engine.close()
    }

    private func perform(_ inputs: [EngineInput]) -> [EngineEffect] {
        self.now += 1_000
        var effects = self.engine.perform(inputs, now: self.now)
        // What the server's reader threads would do.
        for case .read(let read) in effects {
            effects += self.engine.perform([.read(read.id, read.run(self.reader))], now: self.now)
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

    /// Commits each group of one-step requests in one SQLite transaction; `clock` tells seconds. Making the requests and
    /// looking at the answers is not timed; the turns that windows need after a commit are.
    package func time(_ groups: [[Mutation]], _ clock: () -> Double) throws -> Run {
        let inputs = groups.map { group in group.map { self.request(.transaction(WriteTransaction(mutations: [$0]))) } }
        var effects: [[EngineEffect]] = []
        effects.reserveCapacity(inputs.count)
        let start = clock()
        var run = Run()
        for input in inputs {
            effects.append(self.perform(input))
            while self.engine.hasBacklog {
                effects.append(self.perform([]))
                run.turnCount += 1
            }
        }
        run.time = clock() - start
        for effects in effects { try self.take(effects, &run) }
        return run
    }

    /// Commits transactions of many steps together, as one batch: subscribers see one change.
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
            case .reply, .welcome, .progress, .own, .undoState, .whenDrained, .read, .end, .tokensChanged: break
            }
        }
    }

    // MARK: Reading

    /// Asks for objects, so many times as one batch.
    package func get(_ objects: [ObjectID], times: Int) throws {
        for _ in 0..<times {
            for effect in self.perform(objects.map { self.request(.object($0)) }) {
                if case .reply(_, _, .failure(let error)) = effect { throw Failure(description: "\(error)") }
            }
        }
    }

    // MARK: Subscribing

    /// Connections without subscriptions; answers the number of the first.
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

    /// Subscribes on a connection; answers the number of the view.
    @discardableResult
    package func subscribe(_ request: ObjectFetchRequest, on connection: UInt64) throws -> UInt32 {
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
        throw Failure(description: "a subscription was not answered")
    }

    /// Seconds in which the windows that show the same as before are told where they are.
    package func timePulse(_ clock: () -> Double) -> Double {
        let start = clock()
        _ = self.perform([.positionTimer])
        return clock() - start
    }

    /// So many connections go, and their subscriptions with them.
    package func disconnect(_ first: UInt64, _ count: Int) {
        for number in first..<(first + UInt64(count)) { _ = self.perform([.disconnected(ConnectionID(number))]) }
    }

    /// Ends a subscription, and lets so much time pass that a result nobody subscribes to any more is dropped.
    package func drop(view: UInt32, on connection: UInt64) {
        _ = self.perform([self.request(.unsubscribe(view: view), from: ConnectionID(connection))])
        self.now += Int64(Limits.unusedResultSeconds + 1) * 1_000_000
        _ = self.perform([.tick])
    }
}
