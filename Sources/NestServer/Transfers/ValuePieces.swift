import NestModel
import NestProtocol

/// Cuts the chunks of a large value into pieces of `Limits.largeValuePieceBytes`. The last piece may be shorter.
struct ValuePieces: Sendable {
    private let request: PutValue
    private(set) var length = 0
    private var waiting: [UInt8] = []

    init(_ request: PutValue) {
        self.request = request
    }

    /// Returns the pieces that a chunk completes.
    mutating func pieces(of body: [UInt8]) throws(NestError) -> [[UInt8]] {
        let bytes: [UInt8]
        do throws(DecodingFailure) {
            bytes = try SubtreeChunk(bytes: body).unpacked()
        } catch {
            throw NestError(error.code, error.description)
        }
        self.length += bytes.count
        guard self.length <= self.request.length else {
            throw NestError(.invalid, "the value has more than the \(self.request.length) bytes that PUT_VALUE states")
        }
        self.waiting += bytes
        var pieces: [[UInt8]] = []
        var start = 0
        let isAtEnd = self.length == self.request.length
        while self.waiting.count - start >= (isAtEnd ? 1 : Limits.largeValuePieceBytes) {
            let end = min(start + Limits.largeValuePieceBytes, self.waiting.count)
            pieces.append(Array(self.waiting[start..<end]))
            start = end
        }
        self.waiting.removeFirst(start)
        return pieces
    }
}
