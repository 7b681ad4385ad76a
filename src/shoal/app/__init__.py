"""The web page: five steps on 127.0.0.1, thin, on the same pipeline as everything else."""
