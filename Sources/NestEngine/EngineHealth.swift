import NestModel
import NestStore

/// Whether the store can take writes.
package struct EngineHealth {
    /// The first failure after which nothing may be acknowledged: the server must stop.
    package private(set) var failure: StoreError?
    /// Why writes are refused although the store has not failed: too little disk space is left.
    package private(set) var shortage: NestError?
    /// Free disk space, by the last sample.
    package private(set) var freeBytes: Int?
    private let freeBytesMin: Int

    package init(freeBytesMin: Int) {
        self.freeBytesMin = freeBytesMin
    }

    /// The reason why writes are refused now; `nil` if they are not.
    var refusal: NestError? { self.failure?.nestError ?? self.shortage }

    package mutating func fail(_ failure: StoreError?) { self.failure = self.failure ?? failure }

    /// Applies a health sample. A shortage ends only when the free space exceeds the minimum by a quarter, so that it
    /// does not begin and end repeatedly.
    package mutating func take(_ sample: StoreHealth.Sample) {
        self.fail(sample.failure)
        self.freeBytes = sample.freeBytes
        let enough = self.shortage == nil ? self.freeBytesMin : self.freeBytesMin / 4 * 5
        guard let free = sample.freeBytes, free < enough else {
            self.shortage = nil
            return
        }
        self.shortage = NestError(
            .diskFull,
            "the disk is almost full (\(free >> 20) MiB left): writes are refused until more space is free"
        )
    }
}
