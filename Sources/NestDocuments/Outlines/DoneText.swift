/// The words in files that mean that an item is done or not.
enum DoneText {
    private static let yes: Set<String> = ["true", "yes", "y", "x", "1", "done", "checked", "complete", "completed"]
    private static let no: Set<String> = ["", "false", "no", "n", "0", "open", "todo", "unchecked", "incomplete"]

    /// Returns `nil` for any other word.
    static func flag(_ word: String) -> Bool? {
        let word = word.lowercased()
        return Self.yes.contains(word) ? true : Self.no.contains(word) ? false : nil
    }
}
