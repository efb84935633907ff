import NestModel
import NestSchema

/// The regular expressions of a model, for programs that read one from a file.
public enum ModelPatterns {
    /// Returns why a pattern is not valid, in words that follow "its regular expression"; `nil` if it is.
    public static func fault(_ pattern: String) -> String? { AttributePattern.fault(pattern) }

    /// Whether a whole text matches a valid pattern.
    public static func matches(_ text: String, _ pattern: String) -> Bool { AttributePattern.matches(text, pattern) }
}
