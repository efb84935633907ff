import NestDocuments

/// What the screen shows.
struct ScreenFrame: Equatable {
    struct Place: Equatable {
        var row: Int
        var column: Int
    }

    var lines: [ScreenLine]
    /// Where the cursor is shown, counted from 0; `nil`: it is hidden.
    var cursor: Place?

    /// Fills the frame up to the screen's last line, which is the footer.
    mutating func end(with footer: ScreenLine, rows: Int) {
        let count = rows - 1
        self.lines = Array(self.lines.prefix(count))
        while self.lines.count < count { self.lines.append(ScreenLine()) }
        self.lines.append(footer)
    }
}

/// A text with a style, like `+3` in green.
struct StyledText: Equatable {
    enum Style {
        case plain
        case bold
        case dim
        case red
        case green
        case yellow
        case cyan
    }

    var text: String
    var style: Style

    init(_ text: String, _ style: Style = .plain) {
        self.text = text
        self.style = style
    }
}

extension Output {
    /// Returns a heading above rows, which are printed line by line.
    func heading(_ text: StyledText) -> String { self.styled(StyledText(self.shown(text.text), text.style)) }

    func styled(_ text: StyledText) -> String {
        switch text.style {
        case .plain: text.text
        case .bold: self.bold(text.text)
        case .dim: self.dim(text.text)
        case .red: self.coloured(text.text, .red)
        case .green: self.coloured(text.text, .green)
        case .yellow: self.coloured(text.text, .yellow)
        case .cyan: self.coloured(text.text, .cyan)
        }
    }
}

/// A line of the screen: texts from left to right, each from a column of its own.
struct ScreenLine: Equatable {
    private struct Piece: Equatable {
        var column: Int
        var text: StyledText
    }

    private var pieces: [Piece] = []
    /// The first column after the texts.
    private(set) var end = 0

    init() {}

    init(_ text: String, _ style: StyledText.Style = .plain) {
        self.add(StyledText(text, style))
    }

    /// Adds a text from a column on, counted from 0, or after the last text. No control character passes;
    /// titles and other values are escaped before.
    mutating func add(_ text: StyledText, at column: Int? = nil) {
        let text = StyledText(EscapedText.line(text.text), text.style)
        let column = column ?? self.end
        self.pieces.append(Piece(column: column, text: text))
        self.end = column + DisplayWidth.of(text.text)
    }

    /// Returns the line in at most `columns` columns.
    func cut(to columns: Int) -> ScreenLine {
        guard self.end > columns else { return self }
        var line = ScreenLine()
        for piece in self.pieces where piece.column < columns {
            let text = DisplayWidth.cut(piece.text.text, to: columns - piece.column)
            line.add(StyledText(text, piece.text.style), at: piece.column)
        }
        return line
    }

    /// The line with control sequences. Every text goes to its column, wherever the terminal's cursor is after the text
    /// before it.
    func sequences(_ output: Output) -> String {
        self.pieces.map { "\u{1b}[\($0.column + 1)G\(output.styled($0.text))" }.joined()
    }

    /// The line without styles, with spaces between the texts.
    var text: String {
        self.pieces.reduce("") { DisplayWidth.padded($0, to: $1.column) + $1.text.text }
    }
}
