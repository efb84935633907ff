/// Decides whether the engine performs the writes that wait for it in two batches instead of one.
///
/// A client that keeps many writes in flight gets the receipts of a batch together, and then sends its next writes
/// together. So engine, disk, event loop and client would work one after the other. With two batches the client has the
/// receipts of the first one, and sends more, while the engine performs the second one.
///
/// The price is one more sync of the log, and one more frame for each subscriber. So there are two batches only if each
/// of them takes the engine longer than a sync takes, and the pushes of the last one went to few connections. Many
/// writers do not wait for each other: what they send is not divided.
package struct BatchDivision: Sendable {
    /// A batch with at most this number of writes is not divided.
    package static let undividedWritesMax = 32
    /// The writes of more connections than this are not divided.
    package static let writersMax = 4
    /// After pushes to more connections than this, the next batch is not divided.
    package static let subscribersMax = 16

    /// Moving averages. Nothing is divided until both are known.
    private var writeNanoseconds = 0.0
    private var syncNanoseconds = 0.0
    private var subscriberCount = 0

    package init() {}

    /// Notes a batch with writes that the engine has performed, and how long the last sync of the log took: 0 if there
    /// was none yet.
    package mutating func note(writes: Int, subscribers: Int, nanoseconds: UInt64, syncNanoseconds: UInt64) {
        precondition(writes > 0)
        self.subscriberCount = subscribers
        Self.move(&self.writeNanoseconds, to: Double(nanoseconds) / Double(writes))
        Self.move(&self.syncNanoseconds, to: Double(syncNanoseconds))
    }

    /// Returns how many of the waiting writes the next batch gets. `writers`: the connections that they came from; a
    /// connection counts again if its writes do not follow each other.
    package func writesMax(of writes: Int, writers: Int) -> Int {
        guard writes > Self.undividedWritesMax, writers <= Self.writersMax,
            self.subscriberCount <= Self.subscribersMax, self.syncNanoseconds > 0
        else { return writes }
        let half = (writes + 1) / 2
        return Double(half) * self.writeNanoseconds > self.syncNanoseconds ? half : writes
    }

    /// One slow batch or sync changes an average by an eighth.
    private static func move(_ average: inout Double, to value: Double) {
        average = average == 0 ? value : average + (value - average) / 8
    }
}
