import NIOConcurrencyHelpers
import NestModel
import NestOverlay

/// A write that was shown before the server confirmed it.
///
/// It is sent by itself, again after a lost connection, and carried out at most once. If the server refuses it, it is
/// shown no more, `receipt` throws why, and `transaction` may be corrected and written again, also in its place
/// (`insteadOf`).
public final class PendingWrite: Sendable {
    public enum State: Hashable, Sendable {
        /// Its group has not ended: see `OptimisticClient.group`.
        case open
        /// It waits for a connection, or for the writes before it.
        case queued
        case sent
        /// The server has it. Some lists of the client may not show the server's state yet.
        case committed
        /// All lists that follow the server show it as the server has it.
        case settled
        /// By the server.
        case refused
        /// It was not carried out, or that is not known, and it is not sent again: the store has another history than
        /// when it was written, for example that of a backup, so that object ids may mean other objects; the server has
        /// another model; its answer was lost so long ago that the server may have forgotten its key; the server has
        /// failed with it again and again; or the client was closed before the answer.
        case parked
        /// It was undone before it was sent.
        case withdrawn
    }

    private struct Contents {
        var transaction: WriteTransaction
        var state: State
        var place: PendingWrites.ID?
        /// The refused write because of which it is refused.
        var cause: PendingWrite?
        /// Since when it may have been carried out.
        var doubted: ContinuousClock.Instant?
    }

    /// What was written, with the ids of inserted objects and the idempotency key.
    public var transaction: WriteTransaction { self.contents.withLockedValue { $0.transaction } }
    private let contents: NIOLockedValueBox<Contents>
    private let answer = Awaited<Receipt>()

    init(_ transaction: WriteTransaction, isOpen: Bool = false) {
        self.contents = NIOLockedValueBox(Contents(transaction: transaction, state: isOpen ? .open : .queued))
    }

    /// Its place in the order of the program. `nil`: it is not among the pending ones yet, or never was.
    var place: PendingWrites.ID? {
        get { self.contents.withLockedValue { $0.place } }
        set { self.contents.withLockedValue { $0.place = newValue } }
    }

    public var state: State { self.contents.withLockedValue { $0.state } }

    /// The refused write because of which the server has refused this one: it was to make an object that this one
    /// names. Correct that one first.
    public internal(set) var cause: PendingWrite? {
        get { self.contents.withLockedValue { $0.cause } }
        set { self.contents.withLockedValue { $0.cause = newValue } }
    }

    var isAnswered: Bool { self.answer.result != nil }

    /// Its answer was lost, or says that its outcome is not known.
    func noteDoubt() { self.contents.withLockedValue { $0.doubted = $0.doubted ?? .now } }

    /// Whether it may have been carried out so long ago that the server may have forgotten its key.
    var isTooOld: Bool {
        self.contents.withLockedValue {
            $0.doubted.map { $0.duration(to: .now) >= RequestTable.repetitionMax } ?? false
        }
    }

    /// Waits until the server has the write durably. Throws `NestError` if it refuses it. A cancelled task stops
    /// waiting; the write goes on.
    public func receipt() async throws(NestError) -> Receipt { try await self.answer.value() }

    /// Ends a group: no more steps are added. Returns `false` if it is not open any more.
    @discardableResult func close(as state: State) -> Bool {
        self.contents.withLockedValue { contents in
            guard contents.state == .open else { return false }
            contents.state = state
            return true
        }
    }

    /// Why it is neither pending nor carried out.
    var failure: NestError? { if case .failure(let error)? = self.answer.result { error } else { nil } }

    /// Adds the steps of a transaction. Returns `false` if the write is not open any more.
    func append(_ transaction: WriteTransaction) -> Bool {
        self.contents.withLockedValue { contents in
            guard contents.state == .open else { return false }
            contents.transaction.append(transaction)
            return true
        }
    }

    func become(_ state: State) { self.contents.withLockedValue { $0.state = state } }

    func finish(_ state: State, _ result: Result<Receipt, NestError>) {
        self.become(state)
        self.answer.finish(result)
    }
}
