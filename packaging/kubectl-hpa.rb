# Template of the Homebrew formula. scripts/formula fills in the version and the checksums of a release.
class KubectlHpa < Formula
  desc "Explain, predict and apply what the Kubernetes HPA controller decides"
  homepage "https://github.com/kubectl-hpa/kubectl-hpa"
  version "{{ version }}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/kubectl-hpa/kubectl-hpa/releases/download/v{{ version }}/kubectl-hpa-v{{ version }}-darwin-arm64.tar.gz"
      sha256 "{{ darwin-arm64 }}"
    end
    on_intel do
      url "https://github.com/kubectl-hpa/kubectl-hpa/releases/download/v{{ version }}/kubectl-hpa-v{{ version }}-darwin-amd64.tar.gz"
      sha256 "{{ darwin-amd64 }}"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/kubectl-hpa/kubectl-hpa/releases/download/v{{ version }}/kubectl-hpa-v{{ version }}-linux-arm64.tar.gz"
      sha256 "{{ linux-arm64 }}"
    end
    on_intel do
      url "https://github.com/kubectl-hpa/kubectl-hpa/releases/download/v{{ version }}/kubectl-hpa-v{{ version }}-linux-amd64.tar.gz"
      sha256 "{{ linux-amd64 }}"
    end
  end

  def install
    bin.install "kubectl-hpa"
    # The links through which kubectl finds the verbs and their completion.
    system bin/"kubectl-hpa", "install-links"
    bash_completion.install "completions/kubectl-hpa.bash" => "kubectl-hpa"
    zsh_completion.install "completions/_kubectl-hpa"
    fish_completion.install "completions/kubectl-hpa.fish"
    man1.install Dir["man/*.1"]
    pkgshare.install "docs", "examples", "schema"
  end

  test do
    answer = shell_output("#{bin}/kubectl-hpa explain nginx-deployment -f #{pkgshare}/examples/nginx")
    assert_match "SCALE UP 2", answer
  end
end
