import NIOCore
import NestModel
import NestProtocol

extension Frame {
    /// Returns the frame decompressed; unchanged if it is not compressed. `features`: those in use on the connection.
    ///
    /// Checks the declared size before it allocates memory.
    package func unpacked(_ features: Features) throws(WireError) -> Frame {
        guard self.flags.contains(.compressed) else { return self }
        guard features.contains(.compressedFrames), MessageType(rawValue: self.type)?.mayBeCompressed == true else {
            throw .unsupportedFlag(Flags.compressed.rawValue)
        }
        var frame = self
        frame.flags.remove(.compressed)
        do throws(Zstandard.Failure) {
            let bytes = try Zstandard.decompress(
                Array(self.body.readableBytesView),
                sizeMax: Limits.frameUnpackedBytesMax
            )
            frame.body = ByteBuffer(bytes: bytes)
        } catch {
            throw .malformed(DecodingFailure(.invalidValue, "compressed body"))
        }
        return frame
    }
}
