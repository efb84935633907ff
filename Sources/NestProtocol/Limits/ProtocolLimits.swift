import NestModel

/// Frames, chunks and ids. Read them by name from ``Limits``.
public struct ProtocolLimits: Sendable {
    @Bound(.closed, "Body of a frame")
    public var frameBytesMax = 1 << 20

    @Bound(.closed, "Before the handshake is done")
    public var frameBytesBeforeWelcomeMax = 4 << 10

    @Bound(.inner, "A smaller body is never compressed")
    public var frameCompressedBytesMin = 1 << 10

    @Bound(.closed, "A body that came compressed")
    public var frameUnpackedBytesMax = 1 << 20

    @Bound(.inner, "A part of a snapshot or of a sub-tree stream")
    public var chunkBytes = 256 << 10

    @Bound(.refused, "A chunk of a sub-tree that came compressed")
    public var chunkUnpackedBytesMax = 1 << 20

    @Bound(.refused, "Rows of a chunk of a sub-tree")
    public var chunkRowsMax = 65_536

    /// Rows of a chunk of an import for each of its bytes, as it came: few bytes must not be much work.
    @Bound(.refused, "Rows of a chunk of an import for each of its bytes, as it came")
    public var chunkRowsPerByteMax = 16

    @Bound(.inner, "A diff above this is not pushed; its subscribers get it paced, as laggards do")
    public var sharedDiffBytesMax = 256 << 10

    @Bound(.refused, "Requests have the ids from 1 to this")
    public var requestIDMax: UInt32 = 1 << 31 - 1

    @Bound(.inner, "Views have the ids from this to 2^32-1")
    public var viewIDMin: UInt32 = 1 << 31

    init() {}
}
