import NestClient
import NestModel
import NestTestSupport
import NestSchema

/// Writes, undoes and redoes in its own list until its connection is closed. It knows the expected list and stacks,
/// also when the outcome of its last request is unknown.
actor UndoCrashUser {
    /// The titles of a list, and the undo and redo stacks of earlier and later lists.
    struct World: Equatable {
        var titles: [String] = []
        var undo: [[String]] = []
        var redo: [[String]] = []

        var counts: [Int] { [self.undo.count, self.redo.count] }
    }

    private enum Request {
        /// A transaction and the list after it.
        case write(WriteTransaction, [String])
        case undo(Identifier128)
        case redo(Identifier128)
    }

    let name: String
    let list: ObjectID
    private let configuration: ClientConfiguration
    private let progress: ProgressCounter
    private var random: SeededRandom
    private var client: NestClient
    private(set) var world = World()
    private var ids: [String: ObjectID] = [:]
    /// The request that was sent but not answered.
    private var open: Request?
    /// Whether the next write joins the entry of the previous write.
    private var isJoining = false
    private var isInGroup = false
    private var batchNumber = 0
    private var isStopping = false
    private(set) var undoneCount = 0

    init(_ name: String, seed: UInt64, list: ObjectID, _ server: ServerProcess, _ progress: ProgressCounter) async {
        self.name = name
        self.list = list
        self.progress = progress
        self.random = SeededRandom(seed: seed)
        let session = Identifier128.random(using: &self.random)
        self.configuration = await server.configuration(session: session)
        self.client = NestClient(self.configuration)
    }

    /// Runs until `stop` is called, or until the connection is closed while a request is unanswered.
    func run() async throws {
        while !self.isStopping {
            do throws(NestError) {
                if self.open == nil { try await self.changeGroup() }
                let request = self.open ?? self.next()
                self.open = request
                self.take(request, try await self.send(request))
                await self.progress.add(1)
            } catch {
                let lost: Set<ErrorCode> = [.outcomeUnknown, .closed, .connectionLost]
                // A group ends with its connection, so NOT_FOUND is expected then.
                guard lost.contains(error.code) || self.isInGroup && error.code == .notFound else { throw error }
                return
            }
        }
    }

    /// Closes the connection to the killed server.
    func giveUpConnection() async { await self.client.close() }

    /// Connects again. The group ended with the old connection.
    func reconnect() {
        self.client = NestClient(self.configuration)
        self.isInGroup = false
        if self.open == nil { self.isJoining = false }
    }

    func stop() { self.isStopping = true }

    /// Retries the unanswered request.
    func finish() async throws {
        guard let request = self.open else { return }
        self.take(request, try await self.send(request))
    }

    // MARK: Requests

    private func changeGroup() async throws(NestError) {
        guard self.random.oneIn(6) else { return }
        if self.isInGroup {
            try await self.client.endGroup()
        } else {
            try await self.client.beginGroup()
        }
        self.isInGroup.toggle()
        self.isJoining = false
    }

    private func next() -> Request {
        switch self.random.below(6) {
        case 0..<2 where !self.world.undo.isEmpty: return .undo(Identifier128.random(using: &self.random))
        case 2 where !self.world.redo.isEmpty: return .redo(Identifier128.random(using: &self.random))
        default: return self.nextWrite()
        }
    }

    private func nextWrite() -> Request {
        self.batchNumber += 1
        var titles = self.world.titles
        var mutations: [Mutation] = []
        if titles.count > 400 || !titles.isEmpty && self.random.oneIn(3) {
            // Delete several rows at random positions.
            for _ in 0..<min(titles.count, 1 + self.random.below(60)) {
                let title = titles.remove(at: self.random.below(titles.count))
                mutations.append(.delete(.object(self.ids[title]!)))
            }
        } else {
            // Enough rows to make the undo slow.
            let count = self.random.oneIn(3) ? 1 : 1 + self.random.below(80)
            for number in 1...count {
                let index = self.random.below(titles.count + 1)
                titles.insert("\(self.name).\(self.batchNumber) \(number)/\(count)", at: index)
                mutations.append(Item.insert(titles[index], under: self.list, .at(index)))
            }
        }
        if self.isJoining, titles == self.world.undo.last {
            // Undo would skip an entry without a net effect.
            titles.append("\(self.name).\(self.batchNumber) more")
            mutations.append(Item.insert(titles[titles.count - 1], under: self.list))
        }
        let key = Identifier128.random(using: &self.random)
        return .write(WriteTransaction(key: key, mutations: mutations), titles)
    }

    private func send(_ request: Request) async throws(NestError) -> Receipt {
        switch request {
        case .write(let transaction, _): try await self.client.transaction(transaction)
        case .undo(let key): try await self.client.undo(options: UndoOptions(policy: .strict), key: key)
        case .redo(let key): try await self.client.redo(options: UndoOptions(policy: .strict), key: key)
        }
    }

    private func take(_ request: Request, _ receipt: Receipt) {
        // The retried request was part of a group only if it was executed before the group ended.
        if !receipt.isReplayed, !self.isInGroup { self.isJoining = false }
        self.open = nil
        self.world = self.after(request)
        switch request {
        case .write(let transaction, _):
            var ids = receipt.insertedIDs.makeIterator()
            for case .insert(_, let values, _) in transaction.mutations {
                guard case .value(.string(let title))? = values.first?.value, let id = ids.next() else { continue }
                self.ids[title] = id
            }
            self.isJoining = self.isInGroup
        case .undo, .redo:
            self.undoneCount += 1
            self.isInGroup = false
            self.isJoining = false
        }
    }

    private func after(_ request: Request) -> World {
        var world = self.world
        switch request {
        case .write(_, let titles):
            if !self.isJoining { world.undo.append(world.titles) }
            world.redo = []
            world.titles = titles
        case .undo:
            world.redo.append(world.titles)
            world.titles = world.undo.removeLast()
        case .redo:
            world.undo.append(world.titles)
            world.titles = world.redo.removeLast()
        }
        return world
    }

    // MARK: Checks

    /// Checks that, after the restart, list and stacks are both those before the unanswered request or both those after
    /// it. Returns the fault, or `nil`.
    func fault() async throws -> String? {
        let titles = try await self.client.fetch(Item.childrenOf(self.list)).rows.map { $0.values[0].stringValue ?? "" }
        let state = try await self.client.undoState()
        let counts = [state.undoCount, state.redoCount]
        var worlds = [self.world]
        if let open { worlds.append(self.after(open)) }
        if worlds.contains(where: { $0.titles == titles && $0.counts == counts }) { return nil }
        return "\(self.name) has \(titles.count) titles and stacks \(counts), not one of "
            + worlds.map { "\($0.titles.count) and \($0.counts)" }.joined(separator: ", ")
    }

    /// Undoes and redoes everything twice and compares each step. Returns the fault, or `nil`.
    func faultOfUndoAndRedoOfAll() async throws -> String? {
        let world = self.world
        for _ in 0..<2 {
            while !self.world.undo.isEmpty {
                let request = Request.undo(Identifier128.random(using: &self.random))
                self.take(request, try await self.send(request))
                if let fault = try await self.fault() { return fault }
            }
            while self.world.redo.count > world.redo.count {
                let request = Request.redo(Identifier128.random(using: &self.random))
                self.take(request, try await self.send(request))
            }
            if let fault = try await self.fault() { return fault }
        }
        return self.world == world ? nil : "\(self.name) did not return to its first state"
    }

    func close() async { await self.client.close() }
}
