import NestModel
import NestStore
import NestProtocol

/// Lets the store prepare writes of very many objects between the turns: one after the other, in parts that are short
/// enough for the commits of other clients in between.
final class BulkPreparations {
    private let store: Store
    private let sessions: Sessions
    private let objectsPerPart: Int
    private var current: (request: WriteRequest, preparation: Preparation)?
    /// The turns since the last part.
    private var turnCount = 0
    /// Why nothing is done until the next tick.
    private var refusal: NestError?

    init(_ store: Store, _ sessions: Sessions, _ limits: EngineLimits) {
        self.store = store
        self.sessions = sessions
        self.objectsPerPart = max(limits.preparedObjectsMin / Self.partsMin, 1)
        // What an earlier engine of the store has prepared.
        store.abandonPreparation()
    }

    /// The smallest write that is prepared has so many parts.
    private static let partsMin = 4
    /// Other clients' requests delay a part by at most this many turns.
    private static let turnsMax = 8

    /// Whether there is work that no input will start.
    var hasBacklog: Bool { self.store.hasPreparations && self.refusal == nil }

    func resume() { self.refusal = nil }

    /// Does the next part, if it is its turn. Call it at the end of a turn. `isIdle`: the turn had no inputs.
    /// `refusal`: why writes are refused at present. Throws only failures of the store.
    func advance(_ turns: WriteTurns, isIdle: Bool, now: Int64, refusal: NestError?) throws(StoreError) {
        guard !turns.isEmpty || self.store.hasPreparations else { return }
        self.refusal = refusal ?? self.refusal
        if let refusal = self.refusal { return self.refuse(turns, refusal) }
        self.turnCount += 1
        guard isIdle || self.turnCount >= Self.turnsMax else { return }
        self.dropGone(turns)
        try self.begin(turns, now: now)
        guard self.store.hasPreparations else { return }
        self.turnCount = 0
        do throws(StoreError) {
            try self.store.advancePreparations(self.objectsPerPart)
        } catch {
            if error.isFatal { throw error }
            // What is removed or stamped is no request's concern: it goes on later.
            if self.current == nil { self.refusal = error.nestError }
            self.end(.failed(error.nestError))
        }
        if self.current?.preparation.state == .impossible { self.end(.impossible) }
    }

    /// Lets the writes that wait for a preparation be answered.
    private func refuse(_ turns: WriteTurns, _ error: NestError) {
        if self.current != nil { self.end(.failed(error)) }
        while let request = turns.firstUnprepared { request.stage = .failed(error) }
    }

    /// Gives up the write if its request has been answered, if its connection is gone, or if the request turned out to
    /// be another write than the prepared one: the entry that an undo takes back may have changed meanwhile.
    private func dropGone(_ turns: WriteTurns) {
        guard let (request, preparation) = self.current else { return }
        if case .preparing = request.stage, turns.first(of: request.connection) === request { return }
        if self.store.isPreparing(preparation) { self.store.abandonPreparation() }
        self.current = nil
    }

    private func begin(_ turns: WriteTurns, now: Int64) throws(StoreError) {
        while !self.store.hasPreparations, let request = turns.firstUnprepared {
            if case .waiting = request.stage {
                request.stage = .impossible
                continue
            }
            do throws(StoreError) {
                if let preparation = try self.prepare(request, now: now) {
                    request.stage = .preparing(preparation)
                    self.current = (request, preparation)
                } else {
                    request.stage = .impossible
                }
            } catch {
                if error.isFatal { throw error }
                request.stage = .failed(error.nestError)
            }
        }
    }

    private func prepare(_ request: WriteRequest, now: Int64) throws(StoreError) -> Preparation? {
        switch request.operation {
        case .importSubtree(let staged):
            return try self.store.prepare(staged, time: now, stepsMax: request.stepsMax)
        case .transaction:
            guard let object = request.deletedObject else { return nil }
            return try self.store.prepareDeletion(of: object, stepsMax: request.stepsMax)
        case .takeBack(let target, let options, let expected):
            let work = try UndoRunner(store: self.store).work(
                target,
                options,
                expected: expected,
                request.session,
                self.sessions[request.session],
                request.scope
            )
            guard request.traits.contains(.canBePrepared), work.transactions.count == 1 else { return nil }
            return try self.store.prepareRevert(of: work.transactions[0], time: now, stepsMax: request.stepsMax)
        case .beginGroup, .endGroup:
            return nil
        }
    }

    private func end(_ stage: WriteRequest.Stage) {
        self.current?.request.stage = stage
        self.current = nil
        self.store.abandonPreparation()
    }
}
