import NestModel

extension ByteWriter {
    package mutating func write(runs: [Receipt.Run]) {
        self.write(count: runs.count)
        for run in runs {
            self.write(atMost: 2 * SmallBytes.varintMax + 1) { bytes in
                bytes.write(objectID: run.first)
                bytes.write(count: run.count)
                bytes.write(byte: run.isFound ? 1 : 0)
            }
        }
    }
}

extension ByteReader {
    package mutating func runs() throws(DecodingFailure) -> [Receipt.Run] {
        var runs: [Receipt.Run] = []
        // The total is limited to the number of possible ids, so that no sum of counts can overflow.
        var left = Limits.objectIDMax
        for _ in 0..<(try self.count("results", max: Limits.mutationsPerTransactionMax, bytesEach: 3)) {
            let first = try self.objectID("first result")
            let count = try self.index("result count")
            guard count > 0, Int64(count) <= min(left, Limits.objectIDMax - first.rawValue + 1) else {
                throw DecodingFailure(.outOfRange, "result count")
            }
            left -= Int64(count)
            let found = try self.byte("result found")
            guard found <= 1 else { throw DecodingFailure(.invalidValue, "result found") }
            runs.append(.init(first: first, count: count, isFound: found == 1))
        }
        return runs
    }
}
