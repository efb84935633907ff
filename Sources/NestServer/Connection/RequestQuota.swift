import NIOCore
import NestModel
import NestProtocol

/// What one client may have the server do at a time: requests in flight, large results and request bytes among them,
/// and frames that ask the engine for nothing.
package struct RequestQuota: Sendable {
    /// Requests with fewer bytes than this are not counted by bytes: their number is limited.
    package static let smallRequestBytes = 1 << 10

    /// Requests without an answer yet.
    package private(set) var inFlight = 0
    /// Requests taken since the connection opened.
    package private(set) var total = 0
    /// Requests in flight whose answers may be large.
    private var results: Set<UInt32> = []
    /// The bytes of requests in flight that are not small.
    private var byteCounts: [UInt32: Int] = [:]
    /// The sum of `byteCounts`.
    package private(set) var byteCount = 0
    private var controlFrames: TokenBucket
    private var turn: FrameTurn

    package init(
        controlFrames: TokenBucket.Rate,
        controlFramesPerTurnMax: Int = Limits.lightFramesPerTurnMax,
        now: NIODeadline
    ) {
        self.controlFrames = TokenBucket(controlFrames, now: now)
        self.turn = FrameTurn(max: controlFramesPerTurnMax)
    }

    /// Whether the connection may take another frame.
    package func mayTakeFrame(inFlightMax: Int) -> Bool {
        !self.turn.isOver
            && self.inFlight < inFlightMax
            && self.results.count < Limits.resultsInFlightPerConnectionMax
            && self.byteCount <= Limits.requestBytesInFlightPerConnectionMax
    }

    // MARK: Requests

    /// Counts a request of a client, whether or not it gets as far as `begin`.
    package mutating func received() { self.total += 1 }

    /// A request that the I/O layer answers is in flight.
    package mutating func begin() { self.inFlight += 1 }

    /// A request that the engine answers is in flight. `isResult`: its answer may be large.
    package mutating func begin(_ id: UInt32, byteCount: Int, isResult: Bool) {
        self.inFlight += 1
        if byteCount >= Self.smallRequestBytes {
            self.byteCounts[id] = byteCount
            self.byteCount += byteCount
        }
        if isResult { self.results.insert(id) }
    }

    /// These requests have their answers.
    package mutating func answered(_ requests: [UInt32]) {
        guard !requests.isEmpty else { return }
        self.inFlight -= requests.count
        guard !(self.results.isEmpty && self.byteCounts.isEmpty) else { return }
        for id in requests {
            if let byteCount = self.byteCounts.removeValue(forKey: id) { self.byteCount -= byteCount }
            self.results.remove(id)
        }
    }

    /// The connection ends: its requests hold nothing any more.
    package mutating func releaseBytes() {
        self.byteCounts = [:]
        self.byteCount = 0
    }

    // MARK: Control frames

    /// Counts a frame that asks the engine for nothing. Returns whether the client may send it.
    package mutating func takeControlFrame(now: () -> NIODeadline = { .now() }) -> Bool {
        self.turn.take()
        return self.controlFrames.take(now: now)
    }

    /// Whether the connection must pause now, once a turn, so that others on its event loop have their turn.
    package mutating func mustPause() -> Bool { self.turn.mustPause() }

    /// The pause is over.
    package mutating func endPause() { self.turn.begin() }

    /// The socket has no more for now.
    package mutating func endRead() { self.turn.endRead() }
}
