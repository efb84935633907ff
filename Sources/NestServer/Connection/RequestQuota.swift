import NIOCore
import NestModel
import NestProtocol

/// Limits the work of one client that the server does at a time: requests in flight, large results and request bytes
/// among them, and control frames.
package struct RequestQuota: Sendable {
    /// Smaller requests are not counted by bytes, because their number is limited.
    package static let smallRequestBytes = 1 << 10

    /// The number of requests that are not answered yet.
    package private(set) var inFlight = 0
    /// The number of requests received since the connection opened.
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
        controlFramesPerTurnMax: Int = Limits.controlFramesPerTurnMax,
        now: NIODeadline
    ) {
        self.controlFrames = TokenBucket(controlFrames, now: now)
        self.turn = FrameTurn(max: controlFramesPerTurnMax)
    }

    /// Whether the connection may handle another frame.
    package func mayTakeFrame(inFlightMax: Int) -> Bool {
        !self.turn.isOver
            && self.inFlight < inFlightMax
            && self.results.count < Limits.resultsInFlightPerConnectionMax
            && self.byteCount <= Limits.requestBytesInFlightPerConnectionMax
    }

    // MARK: Requests

    /// Counts a request, whether or not `begin` follows.
    package mutating func received() { self.total += 1 }

    /// Counts a request in flight that the I/O layer answers.
    package mutating func begin() { self.inFlight += 1 }

    /// Counts a request in flight that the engine answers. `isResult`: whether its answer may be large.
    package mutating func begin(_ id: UInt32, byteCount: Int, isResult: Bool) {
        self.inFlight += 1
        if byteCount >= Self.smallRequestBytes {
            self.byteCounts[id] = byteCount
            self.byteCount += byteCount
        }
        if isResult { self.results.insert(id) }
    }

    /// Stops counting requests that are answered.
    package mutating func answered(_ requests: [UInt32]) {
        guard !requests.isEmpty else { return }
        self.inFlight -= requests.count
        guard !(self.results.isEmpty && self.byteCounts.isEmpty) else { return }
        for id in requests {
            if let byteCount = self.byteCounts.removeValue(forKey: id) { self.byteCount -= byteCount }
            self.results.remove(id)
        }
    }

    /// Releases the bytes of all requests, because the connection ends.
    package mutating func releaseBytes() {
        self.byteCounts = [:]
        self.byteCount = 0
    }

    // MARK: Control frames

    /// Counts a control frame. Returns whether the client may send it.
    package mutating func takeControlFrame(now: () -> NIODeadline = { .now() }) -> Bool {
        self.turn.take()
        return self.controlFrames.take(now: now)
    }

    /// Returns whether the connection must pause now, so that others on its event loop have their turn. Returns true
    /// once for each turn.
    package mutating func mustPause() -> Bool { self.turn.mustPause() }

    /// Ends the pause.
    package mutating func endPause() { self.turn.begin() }

    /// Begins a new turn, except in a pause: the socket has no more bytes for now.
    package mutating func endRead() { self.turn.endRead() }
}
