import NestModel

/// Limits of frames, chunks and ids. Read them by name from ``Limits``.
public struct ProtocolLimits: Sendable {
    @Bound(.closed, "Bytes of a frame's body")
    public var frameBytesMax = 1 << 20

    @Bound(.closed, "Bytes of a frame's body before WELCOME")
    public var frameBytesBeforeWelcomeMax = 4 << 10

    @Bound(.inner, "Bytes below which a body is never compressed")
    public var frameCompressedBytesMin = 1 << 10

    @Bound(.closed, "Bytes of a compressed body after decompression")
    public var frameUnpackedBytesMax = 1 << 20

    @Bound(.inner, "Bytes of a part of a snapshot or of a sub-tree stream")
    public var chunkBytes = 256 << 10

    @Bound(.refused, "Bytes of a compressed sub-tree chunk after decompression")
    public var chunkUnpackedBytesMax = 1 << 20

    @Bound(.refused, "Rows of a sub-tree chunk")
    public var chunkRowsMax = 65_536

    /// Limits the work that few received bytes can cause.
    @Bound(.refused, "Rows of an import's chunk for each of its bytes as received")
    public var chunkRowsPerByteMax = 16

    @Bound(.inner, "Bytes of a diff above which it is not pushed; its subscribers receive it paced, as lagging ones do")
    public var sharedDiffBytesMax = 256 << 10

    @Bound(.refused, "Bytes of the totals of a result and of all sections that a view shows")
    public var totalsBytesMax = 512 << 10

    @Bound(.refused, "Request ids are from 1 to this")
    public var requestIDMax: UInt32 = 1 << 31 - 1

    @Bound(.inner, "View ids are from this to 2^32-1")
    public var viewIDMin: UInt32 = 1 << 31

    init() {}
}
