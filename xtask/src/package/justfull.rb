class Justfull < Formula
  desc "Keeps the queues of cellular networks just full: simulator, emulator and proxy"
  homepage "https://github.com/justfull/justfull"
  url "https://github.com/justfull/justfull/releases/download/v{{version}}/justfull-{{version}}.tar.gz"
  sha256 "{{sha256}}"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build
  depends_on :linux

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    man1.mkpath
    system bin/"justfull", "man", "--out", man1
    generate_completions_from_executable(bin/"justfull", "completions")
  end

  test do
    system bin/"justfull", "demo", "--quiet", "--out", testpath/"results"
    assert_path_exists testpath/"results/report.html"
  end
end
