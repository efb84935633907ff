import NestModel
import NestProtocol

/// Imports items in one transaction, in chunks as the server grants credit.
public final class NestImporter: RequestWire {
    public let opening = NestFrames.opening()
    private static let request: UInt32 = 1
    private var frames = NestFrames()
    private var chunks: [[UInt8]] = []
    private var end: [UInt8] = []
    private var nextChunk = 0
    private var credit: Int

    /// `initialCredit`: the credit that a transfer has at the start, on a server with default settings.
    public init(items: Int, title: (Int) -> String, initialCredit: Int = Limits.creditBytesInitial) {
        self.credit = initialCredit
        var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: false)
        var checksum = SubtreeChecksum()
        func flush() {
            let chunk = SubtreeChunk(packing: writer.take(), nil).bytes
            checksum.add(chunk)
            self.chunks.append(chunk)
        }
        for number in 0..<items {
            writer.append(SubtreeRow(depth: 0, id: nil, values: [.string(title(number))]))
            if writer.isFull { flush() }
        }
        if writer.rowCount > 0 { flush() }
        self.end = NestFrames.frame(SubtreeEnd(rowCount: items, checksum: checksum.value), id: Self.request)
    }

    public func take(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) throws -> Received {
        var received = Received()
        var granted = 0
        try self.frames.scan(bytes, reply: &reply) { header, body in
            switch MessageType(rawValue: header.type) {
            case .welcome: received.isReady = true
            case .receipt: received.answers += 1
            case .credit:
                var reader = ByteReader(body)
                granted += try reader.index("credit")
            default: break
            }
        }
        if granted > 0 {
            self.credit += granted
            self.appendChunks(to: &reply)
        }
        return received
    }

    public func appendRequest(to output: inout [UInt8]) {
        let request = SubtreeImport(entity: NestLoad.item, placement: NestLoad.atEnd, properties: [NestLoad.title])
        output += NestFrames.frame(ImportSubtree(request), id: Self.request)
        self.appendChunks(to: &output)
    }

    private func appendChunks(to output: inout [UInt8]) {
        while self.nextChunk < self.chunks.count, self.chunks[self.nextChunk].count <= self.credit {
            let chunk = self.chunks[self.nextChunk]
            self.credit -= chunk.count
            self.nextChunk += 1
            output += NestFrames.frame(.subtreeChunk, id: Self.request, chunk)
            if self.nextChunk == self.chunks.count { output += self.end }
        }
    }
}
