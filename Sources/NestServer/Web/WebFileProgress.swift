import NIOCore
import NestModel
import NestProtocol

/// How much of a file the kernel has accepted. A reader that is too slow must not keep the file open.
package struct WebFileProgress: Sendable {
    private let since: NIODeadline
    package var byteCount = 0

    package init(since: NIODeadline) { self.since = since }

    /// Whether the answer is slower than the minimum rate, after a time in which it need not make any progress.
    package func isLate(now: NIODeadline, grace: TimeAmount) -> Bool {
        now >= self.since + grace + .seconds(Int64(self.byteCount / Limits.webFileBytesPerSecondMin))
    }
}
