import NestModel
import NestOverlay

/// Shows writes at once, before the server has confirmed them.
///
///     let optimistic = try await client.optimistic()
///     try await optimistic.withResults(request) { results in
///         for try await state in results { show(state.snapshot, state.pending) }
///     }
///
///     let context = ObjectContext(client)
///     try context.insert(items, ["title": "Milk"])
///     let write = try optimistic.save(context, name: "Add milk")
///     try await write.receipt()
///
/// What it shows is the server's state with the pending writes laid over it. When the server confirms a write, its
/// state replaces the pending one in all lists at once, so that nothing flickers and no row is shown twice: inserted
/// objects have their ids from the beginning. What the client cannot know, because it does not hold all objects, it
/// leaves as the server has it (`OptimisticState.undecided`). Pending writes cost the server nothing.
///
/// Limits: pending writes are lost with the process. They are not part of a group of `NestClient`: `group` of this
/// class makes one write of several.
public final class OptimisticClient: Sendable {
    public let client: NestClient
    private let core: OptimisticCore
    private let stock: ReservedIDStock

    init(_ client: NestClient, _ core: OptimisticCore, _ stock: ReservedIDStock) {
        self.client = client
        self.core = core
        self.stock = stock
    }

    // MARK: Writing

    /// Writes the changes of a context, and shows them at once. Afterwards the context is empty, and knows the ids of
    /// the objects that it inserts. Returns before anything is sent.
    ///
    /// An object that `findOrCreate` inserts is shown only when the server has it, and the context does not learn its
    /// id. Throws `connectionLost`, and the context keeps its changes, if the stock of reserved ids is used up: the
    /// client reserves more as soon as it has a connection. While `Limits.clientRequestsWaitingMax` writes are pending,
    /// the write is refused with `limitExceeded`.
    ///
    /// `insteadOf`: see `write`.
    @discardableResult
    public func save(
        _ context: ObjectContext,
        name: String? = nil,
        insteadOf refused: PendingWrite? = nil
    ) throws(NestError) -> PendingWrite {
        try Self.checkCanReplace(refused)
        return try self.write(try self.transaction(of: context, named: name), insteadOf: refused)
    }

    func transaction(of context: ObjectContext, named name: String?) throws(NestError) -> WriteTransaction {
        try context.takeTransaction(named: name) { (count) throws(NestError) in try self.ids(count) }
    }

    /// Writes a transaction, and shows it at once. Its inserts should be *insert as* with ids of `newID`: an object
    /// without an id is shown only when the server has it.
    ///
    /// `insteadOf`: a write that is refused or parked. The new one takes its place: it comes before the writes that
    /// were made after that one and are not sent, for a write that is corrected before the program goes on. Throws
    /// `invalid` for a write in another state.
    @discardableResult
    public func write(
        _ transaction: WriteTransaction,
        insteadOf refused: PendingWrite? = nil
    ) throws(NestError) -> PendingWrite {
        try Self.checkCanReplace(refused)
        var transaction = transaction
        transaction.key = transaction.key ?? NestClient.newKey()
        let write = PendingWrite(transaction)
        let core = self.core
        core.enqueue { $0.add(write, insteadOf: refused) }
        return write
    }

    private static func checkCanReplace(_ refused: PendingWrite?) throws(NestError) {
        guard let refused, refused.state != .refused, refused.state != .parked else { return }
        throw NestError(.invalid, "only a write that is refused or parked can be replaced, not a \(refused.state) one")
    }

    /// Makes one write of several, which are shown one by one: one transaction, which is sent when `body` has returned,
    /// and one undo entry. Writes outside the group that come after its begin wait until it ends. If `body` throws,
    /// nothing is sent, and nothing of the group is shown any more. Returns the write, or `nil` if `body` has written
    /// nothing.
    ///
    ///     try await optimistic.group("Tidy up") { group in
    ///         for context in contexts { try group.save(context) }
    ///     }
    ///
    /// It has the limits of a transaction: `limitExceeded` refuses it whole. Do not wait inside for a write that was
    /// made outside: that one waits for the end of the group.
    ///
    /// `insteadOf`: see `write`. A group is corrected as a group, which comes in its place.
    @discardableResult
    public func group(
        _ name: String? = nil,
        insteadOf refused: PendingWrite? = nil,
        _ body: (OptimisticGroup) async throws -> Void
    ) async throws -> PendingWrite? {
        try Self.checkCanReplace(refused)
        let pending = PendingWrite(WriteTransaction(name: name, key: NestClient.newKey(), mutations: []), isOpen: true)
        let core = self.core
        core.enqueue { $0.add(pending, insteadOf: refused) }
        do {
            try await body(OptimisticGroup(self, pending))
        } catch {
            pending.close(as: .withdrawn)
            core.enqueue { $0.cancel(pending) }
            throw error
        }
        let isEmpty = pending.transaction.mutations.isEmpty
        pending.close(as: isEmpty ? .withdrawn : .queued)
        core.enqueue { isEmpty ? $0.cancel(pending) : $0.end(pending) }
        return isEmpty ? nil : pending
    }

    func grew(_ pending: PendingWrite) {
        let core = self.core
        core.enqueue { $0.grew(pending) }
    }

    /// Takes an id for a new object from the reserved ones.
    public func newID() throws(NestError) -> ObjectID { try self.ids(1)[0] }

    private func ids(_ count: Int) throws(NestError) -> [ObjectID] {
        let ids = self.stock.take(count)
        let core = self.core
        core.enqueue { $0.refillStock() }
        guard let ids else {
            throw NestError(
                .connectionLost,
                "\(count) more object ids are not reserved yet: write again when the client is connected"
            )
        }
        return ids
    }

    /// Undoes the newest write. A pending one is shown no more at once; it is undone when the server has it, so this
    /// waits for the connection. Returns `nil` if there is nothing left to undo: the pending write was not sent and is
    /// withdrawn, or the server has refused it. Without a pending write it is `NestClient.undo` of what the session has
    /// written last. Throws `busy` if the newest write is a group that has steps and has not ended.
    ///
    /// Undos and writes keep the order in which they are made: what the program writes after an undo is sent once that
    /// is answered. A cancelled task stops waiting; the undo goes on.
    @discardableResult
    public func undo(options: UndoOptions = UndoOptions()) async throws(NestError) -> Receipt? {
        try await self.core.undo(options)?.value()
    }

    /// Does again what `undo` has undone last, until the program writes something new. A write that was withdrawn
    /// before it was sent is made anew, with the same ids, and shown at once: returns `nil`. Otherwise it is
    /// `NestClient.redo`, which is shown when the server has it, and keeps its order as `undo` does. Writes that bypass
    /// this client, such as `NestClient.transaction`, do not count as new here.
    @discardableResult
    public func redo(options: UndoOptions = UndoOptions()) async throws(NestError) -> Receipt? {
        try await self.core.redo(options)?.value()
    }

    /// The writes that the lists do not all have yet, oldest first.
    public var pending: [PendingWrite] {
        get async { await self.core.pendingWrites }
    }

    // MARK: Reading

    /// Follows a request that was written by name: see `withResults(_:_:)` of an `ObjectFetchRequest`, and
    /// `OptimisticState.rows(of:)`.
    public func withResults<Result>(
        _ request: NamedRequest,
        _ body: (OptimisticResults) async throws -> Result
    ) async throws -> Result {
        try await self.withResults(request.request, body)
    }

    /// Follows a request while `body` runs: its first state when the server has sent it, then each newer one.
    public func withResults<Result>(
        _ request: ObjectFetchRequest,
        _ body: (OptimisticResults) async throws -> Result
    ) async throws -> Result {
        let (states, continuation) = OptimisticState.stream()
        let (id, results) = await self.core.follow(request, continuation)
        let core = self.core
        defer { core.enqueue { $0.unfollow(id) } }
        return try await body(OptimisticResults(states: states, results: results))
    }

    /// Follows an outline while `body` runs: see `NestClient.withOutline`. Rows that a pending write inserts, moves or
    /// deletes are shown at once, as far as the rows of the window say what that gives; what unfolds waits for the
    /// server.
    public func withOutline<Result>(
        _ request: ObjectFetchRequest,
        _ body: (OptimisticOutline) async throws -> Result
    ) async throws -> Result {
        let (states, continuation) = OptimisticState.stream()
        let (id, results) = await self.core.follow(try request.asOutline(), continuation)
        let core = self.core
        defer { core.enqueue { $0.unfollow(id) } }
        return try await body(OptimisticOutline(states: states, results: OutlineResults(results)))
    }
}

extension OptimisticState {
    /// A slow consumer misses states, never the newest.
    fileprivate static func stream() -> (
        AsyncThrowingStream<OptimisticState, any Error>, AsyncThrowingStream<OptimisticState, any Error>.Continuation
    ) {
        AsyncThrowingStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }
}

extension NestClient {
    /// Returns the client's optimistic side, which shows writes before they are confirmed. Reads the model and reserves
    /// ids, so it needs a connection. All calls return the same one.
    ///
    /// `stock`: how many object ids to hold in reserve, 1 to `Limits.reservedIDsPerRequestMax`: as many as the program
    /// may insert without a connection. The first call decides.
    public func optimistic(stock size: Int = 256) async throws(NestError) -> OptimisticClient {
        guard (1...Limits.reservedIDsPerRequestMax).contains(size) else {
            throw NestError(.limitExceeded, "a stock has 1 to \(Limits.reservedIDsPerRequestMax) ids")
        }
        let model = try await self.model()
        let core = await self.core.optimisticCore(model, stockSize: size)
        if await core.isStockEmpty { core.stock.add(try await self.reserveIDs(size)) }
        return OptimisticClient(self, core, core.stock)
    }
}

extension ClientCore {
    func optimisticCore(_ model: ManagedObjectModel, stockSize: Int) -> OptimisticCore {
        if let optimistic {
            optimistic.assumeIsolated { $0.follow(model) }
            return optimistic
        }
        let made = OptimisticCore(self, model, ReservedIDStock(size: stockSize))
        self.optimistic = made
        return made
    }
}
