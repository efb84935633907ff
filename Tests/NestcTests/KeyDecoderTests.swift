import NestTestSupport
import Testing

@testable import nestc

/// The bytes that terminals send for keys.
@Suite struct KeyDecoderTests {
    /// Normal and application mode of xterm and tmux, the Linux console, rxvt, and modified keys.
    @Test(
        arguments: [
            ("\u{1b}[A", .up), ("\u{1b}OA", .up), ("\u{1b}[B", .down), ("\u{1b}OB", .down), ("\u{1b}[1;5B", .down),
            ("\u{1b}[5~", .pageUp), ("\u{1b}[6~", .pageDown), ("\u{1b}[6;2~", .pageDown), ("\u{1b}[H", .home),
            ("\u{1b}OH", .home), ("\u{1b}[1~", .home), ("\u{1b}[7~", .home), ("\u{1b}[F", .end), ("\u{1b}OF", .end),
            ("\u{1b}[4~", .end), ("\u{1b}[8~", .end), ("\r", .enter), ("\n", .enter), ("\u{1b}OM", .enter),
            ("\u{7f}", .backspace), ("\u{8}", .backspace), ("\u{15}", .deleteText), ("\u{c}", .redraw),
            ("q", .character("q")), (" ", .character(" ")), ("é", .character("é")), ("日", .character("日")),
            ("🙂", .character("🙂")),
        ] as [(String, TerminalKey)]
    )
    func sequenceIsOneKey(_ bytes: String, _ key: TerminalKey) {
        var decoder = KeyDecoder()
        #expect(decoder.decode(Array(bytes.utf8)) == [key])
        #expect(!decoder.isWaiting)
        // The same, byte by byte.
        var keys: [TerminalKey] = []
        for byte in bytes.utf8 { keys += decoder.decode([byte]) }
        #expect(keys == [key])
    }

    /// Keys without a meaning leave nothing behind: function keys, Insert, Delete, focus, a paste's brackets.
    @Test(arguments: ["\u{1b}OP", "\u{1b}[11~", "\u{1b}[[A", "\u{1b}[2~", "\u{1b}[3~", "\u{1b}[I", "\u{1b}[200~", "\0"])
    func otherKeysAreSkipped(_ bytes: String) {
        var decoder = KeyDecoder()
        #expect(decoder.decode(Array(bytes.utf8) + Array("q".utf8)) == [.character("q")])
    }

    @Test func escapeAloneIsAKeyAfterSomeTime() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0x1b]) == [] && decoder.isWaiting)
        #expect(decoder.flush() == [.escape] && !decoder.isWaiting)
        #expect(decoder.decode([0x1b]) == [])
        #expect(decoder.decode(Array("q".utf8)) == [.escape, .character("q")])
        #expect(decoder.decode(Array("\u{1b}\u{1b}[A".utf8)) == [.escape, .up])
        #expect(decoder.decode(Array("\u{1b}[".utf8)) == [] && decoder.flush() == [.escape, .character("[")])
    }

    @Test func bytesThatAreNoTextAreSkipped() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0xff, 0xc3, 0x28, 0xe0, 0x80, 0x80, 0x71]).last == .character("q"))
        #expect(decoder.decode([0x1b, 0x5b] + [UInt8](repeating: 0x31, count: 500)) == [] && !decoder.isWaiting)
    }

    /// However bytes are cut into pieces, the keys are the same.
    @Test func piecesMakeNoDifference() {
        let parts = ["\u{1b}[A", "\u{1b}OB", "\u{1b}[6~", "\u{1b}", "q", "日", "[", "~", "\u{1b}[1;2H", "\r"]
        for seed in 0..<1_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var bytes: [UInt8] = []
            for _ in 0..<random.below(8) { bytes += Array(parts.randomElement(using: &random)!.utf8) }
            if random.below(4) == 0 { bytes += (0..<6).map { _ in UInt8.random(in: .min ... .max, using: &random) } }
            var whole = KeyDecoder()
            let keys = whole.decode(bytes) + whole.flush()
            var decoder = KeyDecoder()
            var pieces: [TerminalKey] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = 1 + random.below(3)
                pieces += decoder.decode(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            #expect(pieces + decoder.flush() == keys, "seed \(seed)")
        }
    }
}
