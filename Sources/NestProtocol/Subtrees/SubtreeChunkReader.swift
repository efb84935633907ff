import NestModel

/// Decodes chunks in order; remembers the depth from chunk to chunk.
package struct SubtreeChunkReader: Sendable {
    private let valueCount: Int
    private let depthMax: Int
    /// The depth of the preceding row; -1 before the first, which must have depth 0.
    private var depth = -1
    package private(set) var rowCount = 0
    /// The number of rows of depth 0.
    package private(set) var topCount = 0

    package init(valueCount: Int, depthMax: Int = Limits.depthMax) {
        self.valueCount = valueCount
        self.depthMax = depthMax
    }

    /// Decodes the rows of a decompressed chunk. Checks all sizes before it allocates memory for them.
    package mutating func columns(of chunk: [UInt8]) throws(DecodingFailure) -> SubtreeColumns {
        var next = self
        let columns = try ByteReader.read(chunk) { (reader) throws(DecodingFailure) in try next.read(&reader, chunk) }
        self = next
        return columns
    }

    package mutating func rows(of chunk: [UInt8]) throws(DecodingFailure) -> [SubtreeRow] {
        try self.columns(of: chunk).rows
    }

    private mutating func read(
        _ reader: inout ByteReader,
        _ chunk: [UInt8]
    ) throws(DecodingFailure) -> SubtreeColumns {
        let count = try reader.count("rows", max: Limits.chunkRowsMax)
        let flag = try reader.byte("has ids")
        guard flag <= 1 else { throw DecodingFailure(.unsupported, "has ids") }
        guard count <= reader.remaining / (1 + Int(flag) + self.valueCount) else {
            throw DecodingFailure(.truncated, "rows")
        }
        var columns = SubtreeColumns(chunk, rowCount: count, valueCount: self.valueCount)
        for _ in 0..<count { columns.depths.append(try self.nextDepth(&reader)) }
        if flag == 1 { try columns.readIDs(&reader) }
        for _ in 0..<self.valueCount { try columns.readColumn(&reader) }
        try reader.finish("chunk")
        self.rowCount += count
        return columns
    }

    private mutating func nextDepth(_ reader: inout ByteReader) throws(DecodingFailure) -> Int {
        let delta = try reader.zigzag("depth")
        let (depth, overflow) = Int64(max(self.depth, 0)).addingReportingOverflow(delta)
        guard !overflow, depth >= 0, depth <= Int64(self.depth + 1) else { throw DecodingFailure(.outOfRange, "depth") }
        guard depth <= Int64(self.depthMax) else { throw DecodingFailure(.limit, "depth") }
        self.depth = Int(depth)
        if depth == 0 { self.topCount += 1 }
        return Int(depth)
    }
}
